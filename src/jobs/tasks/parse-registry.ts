import { formatPath, positionAt, type Problem } from "../../base/problem.ts";
import { scanJson } from "./json-positions.ts";
import type { RegistryEntry } from "./registry.ts";
import { registrySchema, toRegistryEntries } from "./registry-schema.ts";

/** The entries of a registry text, an array or an object with `datasets`, or everything that is wrong with it. */
export function parseRegistry(text: string, file: string): { entries: RegistryEntry[]; problems: Problem[] } {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    const offset = scanJson(text).errorOffset ?? 0;
    const message = offset >= text.trimEnd().length ? "is not valid JSON: it ends too early" : "is not valid JSON";
    return { entries: [], problems: [{ file, ...positionAt(text, offset), message, severity: "error" }] };
  }
  const wrapped = typeof value === "object" && value !== null && "datasets" in value ? value : null;
  const parsed = registrySchema.safeParse(wrapped === null ? value : wrapped.datasets);
  if (parsed.success) return { entries: toRegistryEntries(parsed.data), problems: [] };
  const { positions } = scanJson(text);
  const problems = parsed.error.issues.map((issue): Problem => {
    const own = issue.path.map((part) => (typeof part === "symbol" ? part.toString() : part));
    const path = wrapped === null ? own : ["datasets", ...own];
    return { file, ...positions.find(path), path: formatPath(path), message: issue.message, severity: "error" };
  });
  return { entries: [], problems };
}
