/** The field of anything that has it, undefined otherwise. */
export function readField(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null ? (value as Readonly<Record<string, unknown>>)[name] : undefined;
}

/** The same, when it is text. */
export function readText(value: unknown, name: string): string | null {
  const field = readField(value, name);
  return typeof field === "string" ? field : null;
}

/** The first of the fields that is a finite number. */
export function readNumber(value: unknown, ...names: readonly string[]): number | null {
  for (const name of names) {
    const field = readField(value, name);
    if (typeof field === "number" && Number.isFinite(field)) return field;
  }
  return null;
}
