import { parseRaw, type RawJson } from "../../base/raw-json.ts";
import type { RawMembers } from "../../base/raw-members.ts";
import { describeUnknown } from "../../base/suggest.ts";
import type { KnownColumns } from "../../formats/read-csv.ts";
import type { Example } from "../run/example.ts";

/** What is wrong with an example. */
export interface ExampleProblem {
  readonly path?: string | undefined;
  readonly message: string;
}

/** What was read of an example; one without an id of its own gets it from its place. */
export interface ReadExample extends Omit<Example, "id"> {
  readonly id: string | null;
  /** How long its line would be if we wrote it; -1 when that would be another line in any case. */
  readonly plainLength: number;
}

const fields = ["id", "input", "output", "expected_output", "metadata"];
// What files of datasets have beside, or call otherwise.
const alsoKnown = ["expectedOutput", "scorer_ids", "scorerIds"];
const names = new Set([...fields, ...alsoKnown]);

/** What the columns of a CSV file of examples may be called. */
export const exampleColumns: KnownColumns = {
  names: [...names],
  way: "what an example has besides goes into columns like metadata.NAME",
};

/** The example in a JSON object, as it is written there. */
export function readExample(members: RawMembers): ReadExample | readonly ExampleProblem[] {
  if (!isSound(members)) return [...problemsOf(members)];
  const id = members.get("id");
  const input = onOneLine(members.get("input") ?? none);
  const output = optional(members.get("output") ?? members.get("expected_output") ?? members.get("expectedOutput"));
  const metadata = optional(present(members.get("metadata")));
  const isPlain = id?.charCodeAt(0) === 34 && !id.includes("\\") && hasPlainNames(members.names, output, metadata);
  const rest = lengthOf("output", output) + lengthOf("metadata", metadata);
  const plainLength = isPlain ? `{"id":,"input":}`.length + id.length + input.length + rest : -1;
  return { id: idOf(id), input, output, metadata, plainLength };
}

/** Whether these are the names of an example's line, in their order. */
function hasPlainNames(names: readonly string[], output: RawJson | null, metadata: RawJson | null): boolean {
  let at = 2;
  if (names[0] !== "id" || names[1] !== "input") return false;
  if (output !== null && names[at++] !== "output") return false;
  if (metadata !== null && names[at++] !== "metadata") return false;
  return names.length === at;
}

function lengthOf(name: string, raw: RawJson | null): number {
  return raw === null ? 0 : `,"":`.length + name.length + raw.length;
}

const none = "null" as RawJson;

const expectedNames = ["output", "expected_output", "expectedOutput"];

/** All that say what is expected, when there are several. */
function findDouble(members: RawMembers): readonly string[] {
  const found = expectedNames.filter((name) => members.has(name));
  return found.length > 1 ? found : [];
}

/** The usual case, without a list of what is wrong. */
function isSound(members: RawMembers): boolean {
  if (!members.has("input") || !isId(members.get("id") ?? none) || !isObject(members.get("metadata") ?? none))
    return false;
  let expected = 0;
  for (const name of members.names) {
    if (name === "id" || name === "input" || name === "metadata") continue;
    if (name === "output" || name === "expected_output" || name === "expectedOutput") expected++;
    else if (!names.has(name)) return false;
  }
  return expected <= 1 || findDouble(members).length === 0;
}

function isId(raw: RawJson): boolean {
  return raw === "null" || (raw !== '""' && /^["\d-]/.test(raw));
}

function isObject(raw: RawJson): boolean {
  return raw === "null" || raw.startsWith("{");
}

function* problemsOf(members: RawMembers): Iterable<ExampleProblem> {
  if (!members.has("input")) yield { message: "there is no `input`" };
  for (const name of new Set(members.names))
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
