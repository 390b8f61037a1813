import { parse, TomlDate, TomlError } from "smol-toml";
import { formatPath, type Problem } from "../../base/problem.ts";
import { parseQuantity } from "../../base/quantity.ts";
import { suggest } from "../../base/suggest.ts";
import type { TaskConfig } from "./task.ts";
import { foreignKeys, knownKeys, quantityDefaults, taskFileSchema, type TaskFile } from "./task-schema.ts";
import { findTomlKeys } from "./toml-positions.ts";
import {
  findUnsupportedKeys,
  hasSolutionEnv,
  isTable,
  readNetworkDemands,
  type KeyPath,
  type TomlTable as Table,
} from "./unsupported-features.ts";

interface Finding {
  readonly path: KeyPath;
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
    ...findUnsupportedKeys(raw).map(({ path, message }) => toFinding(path, message)),
    ...findContradictions(raw),
  ];
  findings.push(...findUnknownKeys(raw));
  const problems = locate(findings, text, file);
  const isBroken = !parsed.success || findings.some((finding) => finding.severity === "error");
  return { config: isBroken ? null : toConfig(parsed.data, raw), problems };
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

/** Warns about keys that neither Rollout nor another known tool defines: most are misspelled. */
function findUnknownKeys(raw: Table): Finding[] {
  return (["", "verifier", "agent", "environment"] as const).flatMap((name): Finding[] => {
    const table = name === "" ? raw : raw[name];
    if (!isTable(table)) return [];
    return Object.keys(table)
      .filter((key) => !knownKeys[name].includes(key) && !foreignKeys.has(key))
      .map((key): Finding => {
        const near = suggest(key, knownKeys[name]);
        const message = near === undefined ? "unknown key; it is ignored" : `unknown key; did you mean "${near}"?`;
        return { path: name === "" ? [key] : [name, key], message, severity: "warning" };
      });
  });
}

function locate(findings: readonly Finding[], text: string, file: string): Problem[] {
  if (findings.length === 0) return [];
  const positions = findTomlKeys(text);
  const problems = findings.map(({ path, message, severity }): Problem => {
    return { file, ...positions.find(path), path: formatPath(path), message, severity };
  });
  return problems.sort((a, b) => (a.line ?? 0) - (b.line ?? 0) || (a.column ?? 0) - (b.column ?? 0));
}

function toConfig(task: TaskFile, raw: Table): TaskConfig {
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
    networkDemands: readNetworkDemands(raw),
    hasSolutionEnv: hasSolutionEnv(raw),
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
