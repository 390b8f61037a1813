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
const names = new Set([...fields, ...alsoKnown]);

/** What the columns of a CSV file of examples may be called. */
export const exampleColumns: KnownColumns = {
  names: [...names],
  way: "what an example has besides goes into columns like metadata.NAME",
};

/** The example in the text of a JSON object, as it is written there; null when it is no JSON object. */
export function readExample(text: string): ReadExample | readonly ExampleProblem[] | null {
  const members = scanObject(text);
  if (members === null) return null;
  if (!isSound(members)) return [...problemsOf(members)];
  return {
    id: idOf(members.get("id")),
    input: onOneLine(members.get("input") ?? none),
    output: optional(members.get("output") ?? members.get("expected_output") ?? members.get("expectedOutput")),
    metadata: optional(present(members.get("metadata"))),
  };
}

const none = "null" as RawJson;

const expectedNames = ["output", "expected_output", "expectedOutput"];

/** All that say what is expected, when there are several. */
function findDouble(members: ReadonlyMap<string, RawJson>): readonly string[] {
  const names = expectedNames.filter((name) => members.has(name));
  return names.length > 1 ? names : [];
}

/** The usual case, without a list of what is wrong. */
function isSound(members: ReadonlyMap<string, RawJson>): boolean {
  if (!members.has("input")) return false;
  if (members.has("output") ? members.has("expected_output") || members.has("expectedOutput") : false) return false;
  if (members.has("expected_output") && members.has("expectedOutput")) return false;
  for (const [name, raw] of members) {
    if (name === "id" ? !isId(raw) : name === "metadata" ? !isObject(raw) : !names.has(name)) return false;
  }
  return true;
}

function isId(raw: RawJson): boolean {
  return raw === "null" || (raw !== '""' && /^["\d-]/.test(raw));
}

function isObject(raw: RawJson): boolean {
  return raw === "null" || raw.startsWith("{");
}

function* problemsOf(members: ReadonlyMap<string, RawJson>): Iterable<ExampleProblem> {
  if (!members.has("input")) yield { message: "there is no `input`" };
  for (const name of members.keys())
    if (!names.has(name)) yield { path: name, message: describeUnknown("field", name, fields) };
  const [first, second] = findDouble(members);
  if (second !== undefined)
    yield { path: second, message: `it means the same as \`${first}\`, which is there too; have one of them` };
  if (!isId(members.get("id") ?? none)) yield { path: "id", message: "expected a text that is not empty, or a number" };
  if (!isObject(members.get("metadata") ?? none)) yield { path: "metadata", message: "expected an object" };
}

function idOf(raw: RawJson | undefined): string | null {
  const id = present(raw);
  if (id === undefined || !id.startsWith('"')) return id ?? null;
  return id.includes("\\") ? String(parseRaw(id)) : id.slice(1, -1);
}

function present(raw: RawJson | undefined): RawJson | undefined {
  return raw === "null" ? undefined : raw;
}

function optional(raw: RawJson | undefined): RawJson | null {
  return raw === undefined ? null : onOneLine(raw);
}

// Line breaks in JSON stand between its parts, never inside of one.
function onOneLine(raw: RawJson): RawJson {
  const isOne = !raw.includes("\n") && !raw.includes("\r");
  return isOne ? raw : (raw.replaceAll(/[\r\n]\s*/g, "") as RawJson);
}
