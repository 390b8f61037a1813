type Path = readonly (string | number)[];

// Values that are text although YAML may read them as a number: version 2.0 is not version 2.
const textKeys: readonly Path[] = [
  ["agents", "*", "env", "*"],
  ["verifier", "env", "*"],
  ["datasets", "*", "version"],
];

/** True for a key whose value is text, however much it looks like a number. */
export function isTextKey(path: Path): boolean {
  return textKeys.some(
    (pattern) => pattern.length === path.length && pattern.every((part, at) => part === "*" || part === path[at]),
  );
}

/** The value with each number at a text key as it was written, where `textOf` knows that. */
export function keepText(value: unknown, textOf: (path: Path) => string | undefined, path: Path = []): unknown {
  if (isTextKey(path)) return typeof value === "string" ? value : (textOf(path) ?? value);
  const mayHold = textKeys.some((pattern) => path.every((part, at) => pattern[at] === "*" || pattern[at] === part));
  if (!mayHold || value === null || typeof value !== "object") return value;
  if (Array.isArray(value)) return value.map((item: unknown, index) => keepText(item, textOf, [...path, index]));
  return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, keepText(part, textOf, [...path, key])]));
}
