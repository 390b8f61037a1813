type Definition = Readonly<Record<string, unknown>>;

const wrappers = ["optional", "default", "prefault", "nullable", "readonly", "pipe", "nonoptional"];

function definitionOf(schema: unknown): Definition | undefined {
  return (schema as { readonly def?: Definition } | undefined)?.def;
}

// Looks through the wrappers that give a schema a default or make it optional.
function unwrap(schema: unknown): Definition | undefined {
  let def = definitionOf(schema);
  while (def && wrappers.includes(String(def["type"]))) def = definitionOf(def["innerType"] ?? def["in"]);
  // Of several shapes only the table has keys.
  const tables = ((def?.["options"] ?? []) as readonly unknown[]).map(unwrap).filter((option) => option?.["shape"]);
  return tables.length === 1 ? tables[0] : def;
}

/** True when a table may lack the key that has this schema. */
export function mayBeLeftOut(schema: unknown): boolean {
  return ["optional", "default", "prefault"].includes(String(definitionOf(schema)?.["type"]));
}

/** The schema of one key of a table or one entry of a list; undefined when the schema does not know it. */
export function schemaInside(schema: unknown, part: string | number): unknown {
  const def = unwrap(schema);
  if (typeof part === "number") return def?.["element"];
  if (def?.["type"] === "record") return def["valueType"];
  const shape = (def?.["shape"] ?? {}) as Readonly<Record<string, unknown>>;
  return Object.hasOwn(shape, part) ? shape[part] : undefined;
}

/** The keys that a table at this path may have. */
export function knownKeysAt(schema: unknown, path: readonly (string | number)[]): string[] {
  let current = schema;
  for (const part of path) current = schemaInside(current, part);
  return Object.keys(unwrap(current)?.["shape"] ?? {}).filter((key) => !key.startsWith("$"));
}
