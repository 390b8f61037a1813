import { mayBeLeftOut, schemaInside } from "../../base/schema-shape.ts";

/** The value without keys that were written but not filled in, where the schema lets them be left out. */
export function dropEmpty(value: unknown, schema: unknown): unknown {
  if (Array.isArray(value)) return value.map((item: unknown) => dropEmpty(item, schemaInside(schema, 0)));
  if (schema === undefined || value === null || typeof value !== "object") return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([key, part]) => part !== null || !mayBeLeftOut(schemaInside(schema, key)))
      .map(([key, part]) => [key, dropEmpty(part, schemaInside(schema, key))]),
  );
}
