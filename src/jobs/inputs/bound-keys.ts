import { shortHash } from "./hash-task.ts";

type Table = Readonly<Record<string, unknown>>;

/** The keys of a job that finished results depend on, as config.json has them: templates, never values. */
export interface BoundKeys {
  /** Where trials run. */
  readonly environment: Table;
  /** How they are timed and marked. */
  readonly settings: Table;
  readonly agents: ReadonlyMap<string, Table>;
}

/** Takes out of a job's document what a finished result depends on; everything else may change between sessions. */
export function boundKeysOf(document: Table): BoundKeys {
  const { preserve_env: _kept, ...environment } = tableOf(document["environment"]);
  const { timeout_multiplier, instruction_path, verifier } = document;
  const agents = Array.isArray(document["agents"]) ? (document["agents"] as readonly unknown[]).map(tableOf) : [];
  return {
    environment,
    settings: { instruction_path, timeout_multiplier, verifier },
    agents: new Map(
      agents.map(({ name, install, execute, env }) => [String(name), { name, install, execute, env: env ?? {} }]),
    ),
  };
}

/** One hash for a value, whatever the order of its keys; a key without a value counts as left out. */
export function hashValue(value: unknown): string {
  return shortHash(JSON.stringify(sorted(value)) ?? "");
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).filter(([, part]) => part !== undefined);
  return Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1)).map(([key, part]) => [key, sorted(part)]));
}

function tableOf(value: unknown): Table {
  return typeof value === "object" && value !== null ? (value as Table) : {};
}
