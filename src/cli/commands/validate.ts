import { existsSync, statSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { basename, dirname, resolve } from "node:path";
import { plainJson } from "../../base/plain-json.ts";
import { silentLog } from "../../base/log.ts";
import type { Problem } from "../../base/problem.ts";
import { RolloutError } from "../../base/rollout-error.ts";
import { plainText } from "../../base/terminal-text.ts";
import { loadProviderModule } from "../../environments/registry.ts";
import type { Override } from "../../jobs/config/overrides.ts";
import { loadJob } from "../../jobs/config/load-job.ts";
import { describeMissing, missingVerifierVariables, networkProblem } from "../../jobs/plan-trials.ts";
import { loadDatasets } from "../../jobs/tasks/load-datasets.ts";
import { readRegistry } from "../../jobs/tasks/read-registry.ts";
import type { Dataset } from "../../jobs/tasks/task.ts";
import { countText } from "../../report/number-text.ts";
import type { CliContext } from "../cli-context.ts";
import { exitCodes } from "../exit-codes.ts";
import { listenToInterrupts } from "../interrupts.ts";
import { problemLine } from "../print-error.ts";
import { prepareInterruptibly } from "../prepare-interruptibly.ts";
import type { JobOptions } from "../job-options.ts";
import { isTaskDirectory, overridesOf } from "../read-job-arguments.ts";

export interface ValidateOptions extends Pick<JobOptions, "set"> {
  readonly json?: boolean;
}

interface Verdict {
  /** What was looked at: `job.yaml: 2 agents, 12 tasks`. */
  readonly subject: string;
  readonly problems: readonly Problem[];
}

const everyTask = { include: [], exclude: [], tags: [], categories: [], limit: null, sample: null, seed: 0 };

/** `rollout validate`: lists every problem of what it is given, and starts nothing. */
export async function validateCommand(
  paths: readonly string[],
  options: ValidateOptions,
  context: CliContext,
): Promise<number> {
  const { terminal } = context;
  const overrides = overridesOf(options, context.host.cwd);
  using interrupts = listenToInterrupts(
    context.process,
    () => {},
    () => {},
  );
  const verdicts: Verdict[] = [];
  for (const path of paths) verdicts.push(await validatePath(path, overrides, context, interrupts.signal));
  const problems = verdicts.flatMap((verdict) => verdict.problems);
  const errors = problems.filter((problem) => problem.severity === "error").length;
  if (options.json) terminal.out(`${plainJson({ schema_version: 1, valid: errors === 0, problems }, 2)}\n`);
  else {
    for (const problem of problems) terminal.out(`${problemLine(problem, context.host.cwd)}\n`);
    const warnings = problems.length - errors;
    for (const { subject } of verdicts) terminal.out(`${plainText(subject)}\n`);
    terminal.out(
      `${errors} ${errors === 1 ? "problem" : "problems"}, ${warnings} ${warnings === 1 ? "warning" : "warnings"}\n`,
    );
  }
  return errors > 0 ? exitCodes.usage : exitCodes.done;
}

async function validatePath(
  path: string,
  overrides: readonly Override[],
  context: CliContext,
  signal: AbortSignal,
): Promise<Verdict> {
  const full = resolve(context.host.cwd, path);
  try {
    if (!existsSync(full)) throw new RolloutError("not_found", "does not exist");
    const isJob = !isTaskDirectory(full) && !statSync(full).isDirectory() && !(await isRegistry(full));
    if (overrides.length > 0 && !isJob)
      throw new RolloutError("usage_invalid", "--set puts keys over those of a job file, and this is none");
    if (isTaskDirectory(full))
      return await validateDataset(
        { kind: "tasks", paths: [full], name: basename(dirname(full)), nConcurrent: null },
        `${path}: 1 task`,
        context,
        signal,
      );
    if (statSync(full).isDirectory() && !existsSync(resolve(full, "registry.json"))) {
      return await validateDataset(
        { kind: "path", path: full, name: basename(full), nConcurrent: null },
        `${path}: a dataset`,
        context,
        signal,
      );
    }
    if (await isRegistry(full)) return await validateRegistry(full, path, context, signal);
    return await validateJob(path, overrides, context, signal);
  } catch (error) {
    if (!(error instanceof RolloutError)) throw error;
    const whole: Problem = {
      file: path,
      message: error.hint ? `${error.message} (${error.hint})` : error.message,
      severity: "error",
    };
    return { subject: path, problems: error.problems.length > 0 ? error.problems : [whole] };
  }
}

async function validateJob(
  path: string,
  overrides: readonly Override[],
  context: CliContext,
  signal: AbortSignal,
): Promise<Verdict> {
  const { host, clock, terminal } = context;
  const job = await loadJob(path, overrides, host);
  await using prepared = await prepareInterruptibly(job, {
    host,
    clock,
    signal,
    log: silentLog,
    runId: "validate",
    selection: everyTask,
    loadProvider: loadProviderModule,
    onProgress: (line) => terminal.err(`${line}\n`),
  });
  const refused = new Map(
    prepared.trials.flatMap((trial) =>
      trial.refusal ? [[`${trial.datasetName}/${trial.task.name}: ${trial.refusal.message}`, trial] as const] : [],
    ),
  );
  const problems = [
    ...datasetProblems(prepared.datasets),
    ...[...refused].map(([message, trial]): Problem => ({
      file: trial.task.directory ?? path,
      message,
      severity: message.includes("[verifier.env]") ? "warning" : "error",
    })),
    ...prepared.warnings
      .filter((warning) => !warning.startsWith("task.toml "))
      .map((message): Problem => ({ file: path, message, severity: "warning" })),
  ];
  return {
    subject: `${path}: ${countText(job.agents.length, "agent")}, ${countText(prepared.trials.length, "trial")}`,
    problems,
  };
}

async function validateDataset(
  ref: Parameters<typeof loadDatasets>[0][number],
  subject: string,
  context: CliContext,
  signal: AbortSignal,
): Promise<Verdict> {
  const { host, clock, terminal } = context;
  const datasets = await loadDatasets([ref], {
    host,
    clock,
    signal,
    log: silentLog,
    onProgress: (line) => terminal.err(`${line}\n`),
  });
  // Not errors: a job can give the variables and set a network policy.
  const warnings = datasets
    .flatMap((dataset) => dataset.tasks)
    .flatMap((task): Problem[] => {
      if (task.status === "broken") return [];
      const file = `${task.directory}/task.toml`;
      const missing = describeMissing(missingVerifierVariables(task, {}, host.env));
      return [missing, networkProblem(task, [])].flatMap((message) =>
        message === null ? [] : [{ file, message, severity: "warning" as const }],
      );
    });
  const count = datasets.reduce((sum, dataset) => sum + dataset.tasks.length, 0);
  return {
    subject: ref.kind === "tasks" ? subject : `${subject} of ${count} ${count === 1 ? "task" : "tasks"}`,
    problems: [...datasetProblems(datasets), ...warnings],
  };
}

async function validateRegistry(
  full: string,
  path: string,
  context: CliContext,
  signal: AbortSignal,
): Promise<Verdict> {
  const entries = await readRegistry({ path: full }, { signal, clock: context.clock });
  const problems: Problem[] = [];
  for (const { name, version } of entries) {
    const verdict = await validateDataset(
      { kind: "registry", registry: { path: full }, name, version, nConcurrent: null },
      name,
      context,
      signal,
    );
    problems.push(...verdict.problems);
  }
  return { subject: `${path}: a registry of ${entries.length} datasets`, problems };
}

function datasetProblems(datasets: readonly Dataset[]): Problem[] {
  return datasets.flatMap((dataset) =>
    dataset.tasks.flatMap((task) => (task.status === "broken" ? task.problems : task.warnings)),
  );
}

// A registry is a JSON list, or an object with `datasets` and without `agents`; a job in JSON has agents.
async function isRegistry(full: string): Promise<boolean> {
  if (statSync(full).isDirectory()) return true;
  if (!full.endsWith(".json")) return false;
  try {
    const value = JSON.parse(await readFile(full, "utf8")) as unknown;
    return (
      Array.isArray(value) ||
      (typeof value === "object" &&
        value !== null &&
        "datasets" in value &&
        !("agents" in value) &&
        !("environment" in value))
    );
  } catch {
    return basename(full) === "registry.json";
  }
}
