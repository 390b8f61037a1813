import { describeUnknown } from "../../../base/suggest.ts";
import type { KnownColumns } from "../../../formats/read-csv.ts";
import type { NewItem } from "../../../store/dataset-store.ts";
import { shapeProblems } from "../write-items.ts";

/** Which fields of a file make an item, when they are not called as an item's are. */
export interface FieldMapping {
  /** `id` when null, where there is one. */
  readonly id: string | null;
  /** One field is the input itself, several become an object. */
  readonly input: readonly string[];
  readonly expected: readonly string[];
}

type Converted = { readonly item: NewItem } | { readonly problems: readonly { path: string; message: string }[] };

const synonyms: Readonly<Record<string, string>> = {
  id: "id",
  input: "input",
  expectedOutput: "expectedOutput",
  expected_output: "expectedOutput",
  // As experiments call it.
  output: "expectedOutput",
  metadata: "metadata",
  scorerIds: "scorerIds",
  scorer_ids: "scorerIds",
};

/** What the columns of a CSV file may be called when no mapping names them. */
export const itemColumns: KnownColumns = {
  names: ["id", "input", "expected_output", "expectedOutput", "output", "metadata", "scorer_ids", "scorerIds"],
  way: "or say which columns are the input, and the others become metadata: --input-columns A,B",
};

/** An item out of a value of a file; fields that a mapping does not name become metadata. */
export function toItem(value: unknown, mapping: FieldMapping | null): Converted {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    return { problems: [{ path: "", message: "expected an object with an `input`" }] };
  }
  const fields = value as Readonly<Record<string, unknown>>;
  const { parts, problems } = mapping === null ? named(fields) : mapped(fields, mapping);
  const { id, input, expectedOutput, metadata, scorerIds } = parts;
  const textId = typeof id === "number" ? String(id) : id === null ? undefined : id;
  const all = [...problems, ...shapeProblems({ id: textId, metadata, scorerIds })];
  if (all.length > 0) return { problems: all };
  // What came out of a file is JSON already.
  return { item: { id: textId, input, expectedOutput, metadata, scorerIds } as NewItem };
}

interface Parts {
  readonly parts: Readonly<Record<string, unknown>>;
  readonly problems: readonly { path: string; message: string }[];
}

function named(fields: Readonly<Record<string, unknown>>): Parts {
  const parts: Record<string, unknown> = {};
  const problems: { path: string; message: string }[] = [];
  for (const [key, value] of Object.entries(fields)) {
    const name = Object.hasOwn(synonyms, key) ? synonyms[key] : undefined;
    if (name !== undefined) parts[name] = value;
    else problems.push({ path: key, message: describeUnknown("key", key, Object.keys(synonyms)) });
  }
  if (!("input" in parts)) {
    const way = "or say which fields are the input: --input-columns A,B";
    problems.unshift({ path: "", message: `there is no \`input\`; name a field so, ${way}` });
  }
  return { parts, problems };
}

function mapped(fields: Readonly<Record<string, unknown>>, mapping: FieldMapping): Parts {
  const { input, expected } = mapping;
  const id = mapping.id ?? (Object.hasOwn(fields, "id") ? "id" : null);
  const used = new Set([...input, ...expected, ...(id === null ? [] : [id])]);
  const missing = [...input, ...(id === null ? [] : [id])].filter((name) => !Object.hasOwn(fields, name));
  const rest = Object.entries(fields).filter(([name, value]) => !used.has(name) && value !== "");
  const pick = (names: readonly string[]): unknown => {
    const [only] = names;
    if (names.length === 1 && only !== undefined) return fields[only];
    return Object.fromEntries(names.filter((name) => Object.hasOwn(fields, name)).map((name) => [name, fields[name]]));
  };
  const hasExpected = expected.some((name) => Object.hasOwn(fields, name) && fields[name] !== "");
  return {
    parts: {
      // An empty cell says nothing.
      id: id === null || fields[id] === "" ? undefined : fields[id],
      input: pick(input),
      expectedOutput: hasExpected ? pick(expected) : undefined,
      metadata: rest.length === 0 ? undefined : Object.fromEntries(rest),
    },
    problems: missing.map((name) => ({ path: name, message: describeUnknown("field", name, Object.keys(fields)) })),
  };
}
