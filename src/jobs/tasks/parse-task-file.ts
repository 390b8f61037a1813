import { parse, TomlDate, TomlError } from "smol-toml";
import { formatPath, type Problem } from "../../base/problem.ts";
import { parseQuantity } from "../../base/quantity.ts";
import { suggest } from "../../base/suggest.ts";
import type { TaskConfig } from "./task.ts";
import { foreignKeys, knownKeys, quantityDefaults, taskFileSchema, type TaskFile } from "./task-schema.ts";
import { findTomlKeys } from "./toml-positions.ts";

type Table = Readonly<Record<string, unknown>>;
interface Finding {
  readonly path: readonly (string | number)[];
  readonly message: string;
  readonly severity: "error" | "warning";
}

/** A task.toml as a configuration, or null and everything that is wrong with it; warnings come either way. */
export function parseTaskFile(text: string, file: string): { config: TaskConfig | null; problems: Problem[] } {
  let raw: Table;
  try {
    raw = toPlainTable(parse(text, { integersAsBigInt: "asNeeded" }));
  } catch (error) {
    return { config: null, problems: [toSyntaxProblem(error, file)] };
  }
  const parsed = taskFileSchema.safeParse(raw);
  const findings: Finding[] = [
    ...(parsed.error?.issues ?? []).map((issue) => toFinding(issue.path, issue.message)),
    ...findUnsupported(raw, []),
    ...findContradictions(raw),
  ];
  const extra = collectExtra(raw, findings);
  const problems = locate(findings, text, file);
  const isBroken = !parsed.success || findings.some((finding) => finding.severity === "error");
  return { config: isBroken ? null : toConfig(parsed.data, extra), problems };
}

function toFinding(path: readonly PropertyKey[], message: string): Finding {
  return { path: path.map((part) => (typeof part === "symbol" ? part.toString() : part)), message, severity: "error" };
}

function toSyntaxProblem(error: unknown, file: string): Problem {
  if (!(error instanceof TomlError)) throw error;
  // The rest of the message is a drawing of the place, which line and column already tell.
  const reason = (error.message.split("\n")[0] ?? "").replace(/^Invalid TOML document: /, "");
  return { file, line: error.line, column: error.column, message: `is not valid TOML: ${reason}`, severity: "error" };
}

/** The same values without the classes of the TOML reader, so that they can be written as JSON. */
function toPlain(value: unknown): unknown {
  if (value instanceof TomlDate) return value.toISOString();
  if (typeof value === "bigint") return String(value);
  if (Array.isArray(value)) return value.map(toPlain);
  return isTable(value) ? toPlainTable(value) : value;
}

function toPlainTable(table: Table): Table {
  return Object.fromEntries(Object.entries(table).map(([key, value]) => [key, toPlain(value)]));
}

function isTable(value: unknown): value is Table {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Keys that change what is measured in a way we do not offer. */
function findUnsupported(table: Table, path: readonly (string | number)[]): Finding[] {
  return Object.entries(table).flatMap(([key, value]): Finding[] => {
    const here = [...path, key];
    const isTop = path.length === 0;
    if (isTop && key === "metadata") return [];
    if (isTop && key === "steps" && Array.isArray(value) && value.length > 0) {
      return [toFinding(here, "tasks of several steps are not supported")];
    }
    if (key === "os" && typeof value === "string" && value.toLowerCase() !== "linux") {
      return [toFinding(here, `tasks for ${JSON.stringify(value)} are not supported; only "linux" is`)];
    }
    if (Array.isArray(value)) {
      return value.flatMap((item, index) => (isTable(item) ? findUnsupported(item, [...here, index]) : []));
    }
    return isTable(value) ? findUnsupported(value, here) : [];
  });
}

function findContradictions(raw: Table): Finding[] {
  const environment = isTable(raw["environment"]) ? raw["environment"] : {};
  return (["memory", "storage"] as const).flatMap((key): Finding[] => {
    const mebibytes = environment[`${key}_mb`];
    const bytes = parseQuantity(String(environment[key]));
    if (typeof mebibytes !== "number" || bytes === undefined) return [];
    // Other tools read "2G" as 2048 of their megabytes: the same amount said in two ways is no contradiction.
    const binary = parseQuantity(String(environment[key]).replace(/([KMGTPE])$/i, (unit) => `${unit.toUpperCase()}i`));
    if ([bytes, binary].includes(mebibytes * 2 ** 20) || bytes === mebibytes * 1e6) return [];
    const message = `says ${mebibytes} MiB while ${key} says ${JSON.stringify(environment[key])}; keep one of the two`;
    return [toFinding(["environment", `${key}_mb`], message)];
  });
}

/** Takes the keys that are not ours out of the file, and tells of each. */
function collectExtra(raw: Table, findings: Finding[]): Table {
  const failed = findings.map((finding) => finding.path);
  const takeUnknown = (table: Table, name: keyof typeof knownKeys): [string, unknown][] =>
    Object.entries(table).filter(([key, value]) => {
      const known = knownKeys[name];
      const isForeignTable = name === "verifier" && key === "environment" && isTable(value);
      if (known.includes(key) && !isForeignTable) return false;
      const path = name === "" ? [key] : [name, key];
      // What is wrong inside it has already been told.
      if (failed.some((other) => path.every((part, index) => part === other[index]))) return true;
      const near = isForeignTable || foreignKeys.has(key) ? undefined : suggest(key, known);
      const message =
        near === undefined ? "is not a key of ours; it has no effect" : `unknown key; did you mean "${near}"?`;
      findings.push({ path, message, severity: "warning" });
      return true;
    });
  const extra = takeUnknown(raw, "");
  for (const name of ["verifier", "agent", "environment"] as const) {
    const table = raw[name];
    const unknown = isTable(table) ? takeUnknown(table, name) : [];
    if (unknown.length > 0) extra.push([name, Object.fromEntries(unknown)]);
  }
  return Object.fromEntries(extra);
}

function locate(findings: readonly Finding[], text: string, file: string): Problem[] {
  if (findings.length === 0) return [];
  const positions = findTomlKeys(text);
  const problems = findings.map(({ path, message, severity }): Problem => {
    return { file, ...positions.find(path), path: formatPath(path), message, severity };
  });
  return problems.sort((a, b) => (a.line ?? 0) - (b.line ?? 0) || (a.column ?? 0) - (b.column ?? 0));
}

function toConfig(task: TaskFile, extra: Table): TaskConfig {
  const { metadata, verifier, agent, environment } = task;
  return {
    version: String(task.version ?? task.schema_version ?? "1.0"),
    source: task.source,
    metadata,
    tags: readTags(metadata["tags"]),
    category: readWord(metadata["category"]),
    difficulty: readWord(metadata["difficulty"]),
    verifier: {
      timeoutSec: verifier.timeout_sec,
      env: Object.fromEntries(Object.entries(verifier.env).map(([name, value]) => [name, String(value)])),
      leftovers: verifier.leftovers ?? null,
      nonzeroExit: verifier.nonzero_exit ?? null,
      environment: typeof verifier.environment === "string" ? verifier.environment : null,
      paths: verifier.paths ?? null,
    },
    agent: { installTimeoutSec: agent.install_timeout_sec, timeoutSec: agent.timeout_sec },
    environment: {
      buildTimeoutSec: environment.build_timeout_sec,
      dockerImage: environment.docker_image?.trim() || null,
      cpus: readQuantity(environment.cpus),
      memoryBytes: readBytes(environment.memory, environment.memory_mb, quantityDefaults.memory),
      storageBytes: readBytes(environment.storage, environment.storage_mb, quantityDefaults.storage),
    },
    extra,
  };
}

function readQuantity(value: string | number): number {
  return parseQuantity(String(value)) ?? Number.NaN;
}

function readBytes(value: string | number | undefined, mebibytes: number | undefined, fallback: string): number {
  if (value === undefined && mebibytes !== undefined) return Math.round(mebibytes * 2 ** 20);
  return Math.round(readQuantity(value ?? fallback));
}

function readTags(value: unknown): string[] {
  const words = typeof value === "string" ? value.split(",") : Array.isArray(value) ? value : [];
  return words.map((word) => String(word).trim()).filter((word) => word !== "");
}

function readWord(value: unknown): string | null {
  return typeof value === "string" || typeof value === "number" ? String(value) : null;
}
