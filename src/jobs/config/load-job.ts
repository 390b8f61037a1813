import { readFile } from "node:fs/promises";
import { dirname, normalize, resolve } from "node:path";
import type { Host } from "../../base/host.ts";
import { comparePlaces, formatPath, type Problem } from "../../base/problem.ts";
import { messageOf, RolloutError, systemCodeOf } from "../../base/rollout-error.ts";
import { schemaProblems, type PlaceOf } from "../../base/schema-problems.ts";
import { checkJob, type Finding } from "./check-job.ts";
import { dropEmpty } from "./drop-empty.ts";
import type { Job } from "./job.ts";
import { jobFileSchema } from "./job-schema.ts";
import { applyOverrides, type AppliedOverride, type Override } from "./overrides.ts";
import { pruneInvalid } from "./prune-invalid.ts";
import { resolveJob, type MissingVariable } from "./resolve-job.ts";
import { parseSource, type SourceDocument } from "./source-document.ts";
import { keepText } from "./text-keys.ts";

type Path = readonly (string | number)[];

/** Reads job.yaml or job.json; rejects with every problem at once, before anything has started. */
export async function loadJob(file: string, overrides: readonly Override[], host: Host): Promise<Job> {
  const path = resolve(host.cwd, file);
  const source = parseSource(await readJobFile(path, file), file);
  if (source.problems.length > 0) throw invalidJob(source.problems);
  const value = keepText(source.value ?? {}, source.textOf);
  return buildJob(value, { file: path, label: file, baseDir: dirname(path), locate: source.locate }, overrides, host);
}

/** Builds a job from an object in the words of a job file; relative paths start from `baseDir`. */
export function defineJob(value: unknown, baseDir: string, overrides: readonly Override[], host: Host): Job {
  return buildJob(value, { file: null, label: "job", baseDir, locate: () => undefined }, overrides, host);
}

/** Builds a job from what config.json of a job directory holds. */
export function loadConfig(
  value: unknown,
  origin: Pick<Origin, "file" | "label" | "baseDir">,
  overrides: readonly Override[],
  host: Host,
): Job {
  return buildJob(value, { ...origin, locate: () => undefined }, overrides, host);
}

interface Origin {
  readonly file: string | null;
  readonly label: string;
  readonly baseDir: string;
  readonly locate: SourceDocument["locate"];
}

function buildJob(value: unknown, origin: Origin, overrides: readonly Override[], host: Host): Job {
  const { value: merged, applied } = applyOverrides(value, overrides);
  const placeOf = placesIn(origin, applied);
  const filled = dropEmpty(merged, jobFileSchema);
  const parsed = jobFileSchema.safeParse(filled, { reportInput: true });
  const told = parsed.success ? [] : schemaProblems(parsed.error, jobFileSchema, placeOf);
  told.push(...applied.flatMap(misplaced));
  const pruned = parsed.success ? { job: parsed.data, touched: new Set<string>() } : pruneInvalid(filled, parsed.error);
  if (!pruned) throw invalidJob(told);

  const { file, baseDir } = origin;
  const { cwd, env } = host;
  const { job, missing } = resolveJob(pruned.job, {
    file,
    baseDir,
    cwd,
    env,
    isConcurrencyChosen: typeof filled === "object" && filled !== null && "n_concurrent_trials" in filled,
    placeOf: (path) => placeOf(path, "value"),
  });
  const findings = [...checkJob(pruned.job, baseDir), ...missing.map(unsetFinding)];
  const found = findings
    .filter(({ path, restsOn = [] }) => ![path, ...restsOn].some((at) => isTouched(at, pruned.touched)))
    .map(({ path, of, message }): Problem => {
      return { ...placeOf(path, of), path: formatPath(path), message, severity: "error" };
    });
  if (told.length + found.length > 0) throw invalidJob([...told, ...found].sort(comparePlaces));
  return job;
}

// A key that came from the command line has no line in the file; it is named by its option.
function placesIn(origin: Origin, applied: readonly AppliedOverride[]): PlaceOf {
  return (path, of) => {
    const option = applied.findLast(
      (entry) => entry.problem === undefined && entry.path.every((part, at) => part === path[at]),
    );
    return option ? { file: option.label } : { file: origin.label, ...origin.locate(path, of) };
  };
}

function misplaced({ label, path, problem }: AppliedOverride): Problem[] {
  return problem === undefined ? [] : [{ file: label, path: formatPath(path), message: problem, severity: "error" }];
}

function unsetFinding({ path, name }: MissingVariable): Finding {
  const message = `\${${name}} is not set; export ${name}, or give a default: \${${name}:-value}`;
  return { path, of: "value", message };
}

function isTouched(path: Path, touched: ReadonlySet<string>): boolean {
  return path.some((_part, at) => touched.has(formatPath(path.slice(0, at + 1))));
}

async function readJobFile(path: string, shown: string): Promise<string> {
  try {
    return (await readFile(path, "utf8")).replace(/^\uFEFF/, "");
  } catch (error) {
    throw unreadable(error, shown);
  }
}

function unreadable(error: unknown, shown: string): RolloutError {
  const code = systemCodeOf(error);
  if (code === "ENOENT") {
    return new RolloutError("config_invalid", `${shown} does not exist`, { hint: "rollout init job makes one" });
  }
  if (code === "EISDIR") {
    const inside = normalize(shown).replace(/(.)\/$/, "$1");
    return new RolloutError("config_invalid", `${shown} is a directory, not a job file`, {
      hint: `name the file, as in ${inside}/job.yaml`,
    });
  }
  return new RolloutError("config_invalid", `${shown} cannot be read: ${messageOf(error)}`, { cause: error });
}

function invalidJob(problems: readonly Problem[]): RolloutError {
  const noun = problems.length === 1 ? "1 problem" : `${problems.length} problems`;
  return new RolloutError("config_invalid", `the job has ${noun}; nothing was started`, { problems });
}
