import { parseRaw, scanObject, type RawJson } from "../../base/raw-json.ts";
import { describeUnknown } from "../../base/suggest.ts";
import type { KnownColumns } from "../../formats/read-csv.ts";
import type { Example } from "../run/example.ts";

/** What is wrong with an example. */
export interface ExampleProblem {
  readonly path?: string | undefined;
  readonly message: string;
}

/** What was read of an example; one without an id of its own gets it from its place. */
export type ReadExample = Omit<Example, "id"> & { readonly id: string | null };

const fields = ["id", "input", "output", "expected_output", "metadata"];
// What files of datasets have beside, or call otherwise.
const alsoKnown = ["expectedOutput", "scorer_ids", "scorerIds"];

/** What the columns of a CSV file of examples may be called. */
export const exampleColumns: KnownColumns = {
  names: [...fields, ...alsoKnown],
  way: "what an example has besides goes into columns like metadata.NAME",
};

/** The example in the text of a JSON object, as it is written there; null when it is no JSON object. */
export function readExample(text: string): ReadExample | readonly ExampleProblem[] | null {
  const members = scanObject(text);
  if (members === null) return null;
  const problems = [...problemsOf(members)];
  if (problems.length > 0) return problems;
  return {
    id: idOf(members.get("id")),
    input: onOneLine(members.get("input") ?? none),
    output: optional(members.get("output") ?? members.get("expected_output") ?? members.get("expectedOutput")),
    metadata: optional(present(members.get("metadata"))),
  };
}

const none = "null" as RawJson;

function* problemsOf(members: ReadonlyMap<string, RawJson>): Iterable<ExampleProblem> {
  if (!members.has("input")) yield { message: "there is no `input`" };
  for (const name of members.keys())
    if (!fields.includes(name) && !alsoKnown.includes(name))
      yield { path: name, message: describeUnknown("field", name, fields) };
  const [id, metadata] = [present(members.get("id")), present(members.get("metadata"))];
  if (id !== undefined && (id === '""' || !/^["\d-]/.test(id)))
    yield { path: "id", message: "expected a text that is not empty, or a number" };
  if (metadata !== undefined && !metadata.startsWith("{")) yield { path: "metadata", message: "expected an object" };
}

function idOf(raw: RawJson | undefined): string | null {
  const id = present(raw);
  return id === undefined ? null : String(id.startsWith('"') ? parseRaw(id) : id);
}

function present(raw: RawJson | undefined): RawJson | undefined {
  return raw === "null" ? undefined : raw;
}

function optional(raw: RawJson | undefined): RawJson | null {
  return raw === undefined ? null : onOneLine(raw);
}

// Line breaks in JSON stand between its parts, never inside of one.
function onOneLine(raw: RawJson): RawJson {
  return (/[\r\n]/.test(raw) ? raw.replaceAll(/[\r\n]\s*/g, "") : raw) as RawJson;
}
