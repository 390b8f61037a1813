import { readField } from "./read-field.ts";
import type { TargetType } from "./target.ts";

/**
 * Where registered targets and scorers are found by id: plain records of ours, or an object of another library with
 * `getAgentById`, `getWorkflowById`, `getScorerById` (or the same without `ById`).
 */
export interface Registry {
  readonly agents?: Readonly<Record<string, unknown>> | undefined;
  readonly workflows?: Readonly<Record<string, unknown>> | undefined;
  readonly scorers?: Readonly<Record<string, unknown>> | undefined;
  readonly functions?: Readonly<Record<string, unknown>> | undefined;
}

/** What is registered, in an object of its own because it may be thenable; null when there is nothing of that id. */
export async function findRegistered(
  registry: Registry | undefined,
  type: TargetType,
  id: string,
): Promise<{ readonly value: unknown } | null> {
  const record = readField(registry, `${type}s`);
  if (typeof record === "object" && record !== null && Object.hasOwn(record, id))
    return { value: readField(record, id) };
  const name = type.charAt(0).toUpperCase() + type.slice(1);
  for (const method of [`get${name}ById`, `get${name}`]) {
    const find = readField(registry, method);
    if (typeof find !== "function") continue;
    const value = await ask(() => find.call(registry, id));
    if (value !== null) return value;
  }
  return null;
}

/** The ids that are known, as far as they can be listed. */
export function registeredIds(registry: Registry | undefined, type: TargetType): string[] {
  const record = readField(registry, `${type}s`);
  return typeof record === "object" && record !== null ? Object.keys(record) : [];
}

// Registries throw for an id they do not know; which error it is differs from one to the next.
async function ask(find: () => unknown): Promise<{ readonly value: unknown } | null> {
  try {
    const found = find();
    const value = found instanceof Promise ? ((await found) as unknown) : found;
    return value === undefined || value === null ? null : { value };
  } catch {
    return null;
  }
}
