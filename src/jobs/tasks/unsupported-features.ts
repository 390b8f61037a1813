import type { Problem } from "../../base/problem.ts";

export type TomlTable = Readonly<Record<string, unknown>>;
export type KeyPath = readonly (string | number)[];

/** A key that makes a task invalid, and the reason. */
export interface UnsupportedKey {
  readonly path: KeyPath;
  readonly message: string;
}

/** What a task.toml asks of the network in one phase, with the key that asks for it. Null when the phase is not restricted. */
export interface NetworkDemand {
  readonly key: string;
  readonly value: string | boolean;
}

export interface NetworkDemands {
  readonly agent: NetworkDemand | null;
  readonly verifier: NetworkDemand | null;
}

type Rule = readonly [path: string, message: string, changesResult: (value: unknown) => boolean];

// A key that is present and empty (`mcp_servers = []`, `gpus = 0`) changes nothing.
const rules: readonly Rule[] = [
  ["steps", "tasks with several steps are not supported", isFilled],
  ["agent.user", "is not supported: the agent would run as the image's user", isFilled],
  ["verifier.user", "is not supported: the tests would run as the image's user", isFilled],
  [
    "verifier.environment_mode",
    'a separate verifier image is not supported; `environment = "separate"` runs the tests in a fresh container of the task\'s image',
    (value) => value === "separate",
  ],
  ["verifier.environment", "a separate verifier image is not supported", (value) => isTable(value) && isFilled(value)],
  ["verifier.collect", "collect hooks are not supported", isFilled],
  ["environment.workdir", "is not supported: commands would run in the image's working directory", isFilled],
  ["environment.env", "is not supported: the container would start without these variables", isFilled],
  ["environment.healthcheck", "health checks are not supported: the agent would not wait for the service", isFilled],
  ["environment.mcp_servers", "MCP servers are not supported: the agent would not see them", isFilled],
  ["environment.skills_dir", "skills are not supported: the agent would not see them", isFilled],
  ["environment.gpus", "GPUs are not supported: the trial would run without one", (value) => Number(value) !== 0],
  ["environment.tpu", "TPUs are not supported: the trial would run without one", isFilled],
];

/** Finds the keys that change what a task measures and that Rollout does not support. */
export function findUnsupportedKeys(raw: TomlTable): UnsupportedKey[] {
  const found = rules.flatMap(([name, message, changesResult]): UnsupportedKey[] => {
    const path = name.split(".");
    const value = valueAt(raw, path);
    return value !== undefined && changesResult(value) ? [{ path, message }] : [];
  });
  return [...found, ...findOtherSystems(raw, [])];
}

/** Returns what the task demands of the network in each phase. A job that sets no policy for that phase cannot run the task. */
export function readNetworkDemands(raw: TomlTable): NetworkDemands {
  const everywhere =
    readMode(raw, "environment.network_mode") ??
    (valueAt(raw, ["environment", "allow_internet"]) === false
      ? { key: "environment.allow_internet", value: false }
      : null);
  const ofPhase = (phase: "agent" | "verifier"): NetworkDemand | null => {
    const demand = readMode(raw, `${phase}.network_mode`) ?? everywhere;
    return demand?.value === "public" ? null : demand;
  };
  return { agent: ofPhase("agent"), verifier: ofPhase("verifier") };
}

/** Returns true when the oracle needs variables from `[solution.env]`. */
export function hasSolutionEnv(raw: TomlTable): boolean {
  return isFilled(valueAt(raw, ["solution", "env"]));
}

const composeFiles = ["docker-compose.yaml", "docker-compose.yml", "compose.yaml", "compose.yml"];

/** Reports a compose file among the files of a task's `environment` folder. */
export function findComposeFile(names: readonly string[], folder: string): Problem | null {
  const name = composeFiles.find((file) => names.includes(file));
  if (name === undefined) return null;
  const message = "compose files are not supported: the trial would run without its services";
  return { file: `${folder}/${name}`, message, severity: "error" };
}

function readMode(raw: TomlTable, key: string): NetworkDemand | null {
  const value = valueAt(raw, key.split("."));
  return typeof value === "string" && value !== "" ? { key, value: value.toLowerCase() } : null;
}

/** `os` counts wherever it stands: in `[environment]`, in `[verifier.environment]`, in a step. */
function findOtherSystems(table: TomlTable, path: KeyPath): UnsupportedKey[] {
  return Object.entries(table).flatMap(([key, value]): UnsupportedKey[] => {
    const here = [...path, key];
    if (path.length === 0 && key === "metadata") return [];
    if (key === "os" && typeof value === "string" && value.toLowerCase() !== "linux") {
      return [{ path: here, message: `tasks for ${JSON.stringify(value)} are not supported; only "linux" is` }];
    }
    if (Array.isArray(value)) {
      return value.flatMap((item, index) => (isTable(item) ? findOtherSystems(item, [...here, index]) : []));
    }
    return isTable(value) ? findOtherSystems(value, here) : [];
  });
}

function valueAt(table: TomlTable, path: readonly string[]): unknown {
  return path.reduce<unknown>((value, key) => (isTable(value) ? value[key] : undefined), table);
}

function isFilled(value: unknown): boolean {
  if (Array.isArray(value)) return value.length > 0;
  if (isTable(value)) return Object.keys(value).length > 0;
  return value !== undefined && value !== null && value !== "";
}

export function isTable(value: unknown): value is TomlTable {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
