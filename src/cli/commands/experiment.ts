import { existsSync } from "node:fs";
import { basename, extname, join, resolve } from "node:path";
import type { Json, JsonObject } from "../../base/json.ts";
import { plainJson } from "../../base/plain-json.ts";
import { RolloutError } from "../../base/rollout-error.ts";
import { shellWord, shownPath } from "../../base/shown-path.ts";
import { chooseCommand } from "../../experiments/executor/choose-command.ts";
import type { ExecutorNote } from "../../experiments/executor/executor-voice.ts";
import { openDirectoryOutput } from "../../experiments/output/directory-output.ts";
import { openNoOutput } from "../../experiments/output/no-output.ts";
import { defaultLimits } from "../../experiments/executor/start-request.ts";
import { SubprocessExecutor } from "../../experiments/executor/subprocess-executor.ts";
import { performExperiment } from "../../experiments/perform-experiment.ts";
import type { ExperimentSummary } from "../../experiments/run/experiment-tally.ts";
import { firstExamples, readExamples } from "../../experiments/run/read-examples.ts";
import type { RunEvent } from "../../store/run.ts";
import type { CliContext } from "../cli-context.ts";
import { exitCodeOfSignal, exitCodes } from "../exit-codes.ts";
import type { SignalName } from "../interrupts.ts";
import { jsonModeOf, listenAndReport, type ReportOptions } from "../report-options.ts";

export interface ExperimentCommandOptions extends ReportOptions {
  readonly dataset: string;
  readonly param?: readonly string[];
  readonly repetitions: number;
  readonly maxWorkers: number;
  readonly processes: number;
  readonly name?: string;
  readonly dryRun?: number | true;
  readonly resume?: string;
  readonly phased?: boolean;
  readonly evaluateFailed?: boolean;
  readonly outputDir: string;
  readonly executor?: string;
  readonly taskTimeout: number;
  readonly evalTimeout: number;
}

/** `rollout experiment`: runs an experiment file over a dataset and returns the exit code. */
export async function experimentCommand(
  path: string,
  options: ExperimentCommandOptions,
  context: CliContext,
): Promise<number> {
  const { host, clock, terminal } = context;
  const file = resolve(host.cwd, path);
  const dataset = resolve(host.cwd, options.dataset);
  for (const name of [file, dataset])
    if (!existsSync(name)) throw new RolloutError("not_found", `${shownPath(name, host.cwd)} does not exist`);
  const params = readParams(options.param ?? []);
  const dryCount = options.dryRun === true ? 1 : (options.dryRun ?? null);
  const examples = () => (dryCount === null ? readExamples(dataset) : firstExamples(readExamples(dataset), dryCount));
  // A look at all of them before anything starts: whatever is wrong is told now.
  let exampleCount = 0;
  for await (const _example of examples()) exampleCount++;
  if (exampleCount === 0) throw new RolloutError("config_invalid", `${options.dataset} has no examples`);
  const command = chooseCommand({
    ...options,
    file,
    execPath: host.execPath,
    packageDir: context.packageDir,
    executor: options.executor,
  });
  const outputDir = resolve(host.cwd, options.outputDir);
  const id =
    options.resume ?? options.name ?? freeName(outputDir, `${basename(file, extname(file))}-${stamp(clock.now())}`);
  const directory = join(outputDir, id);
  const resume = `rollout experiment ${shellWord(path)} --dataset ${shellWord(options.dataset)} --resume ${shellWord(id)}`;

  using told = listenAndReport(options, context, "runs");
  const { reporter, interrupts } = told;
  const summary = await performExperiment({
    id,
    startExecutor: (maxWorkers) =>
      SubprocessExecutor.start({
        command,
        env: host.env,
        cwd: host.cwd,
        maxWorkers,
        params,
        limits: defaultLimits,
        clock,
        signal: interrupts.signal,
        onNote: (note) => tellNote(note, reporter.print, reporter.say),
      }),
    params,
    repetitions: options.repetitions,
    processes: options.processes,
    rules: {
      maxWorkers: options.maxWorkers,
      taskLimitMs: options.taskTimeout * 1000,
      evalLimitMs: options.evalTimeout * 1000,
      evaluatesFailed: options.evaluateFailed === true,
    },
    isPhased: options.phased === true,
    exampleCount,
    examples,
    openOutput: (discovered, used) =>
      dryCount !== null
        ? openNoOutput()
        : openDirectoryOutput({
            directory,
            datasetPath: dataset,
            resumes: options.resume !== undefined,
            config: {
              name: discovered.name ?? id,
              experiment_id: id,
              file: path,
              dataset: options.dataset,
              params: used,
              repetitions: options.repetitions,
              max_workers: options.maxWorkers,
              evaluators: [...discovered.evaluators],
            },
          }),
    clock,
    signal: interrupts.signal,
    onEvent: (event) => reporter.onEvent(withNext(event, resume, dryCount === null)),
  });
  const exitCode = exitCodeOfExperiment(summary, interrupts.received);
  if (jsonModeOf(options) === "final") terminal.out(`${plainJson(summaryJson(summary, exitCode))}\n`);
  if (summary.error !== null) reporter.say(summary.error);
  return exitCode;
}

function tellNote(note: ExecutorNote, print: (line: string) => void, say: (line: string) => void): void {
  if (note.kind === "output")
    for (const line of note.text.trimEnd().split("\n")) print(note.runId === null ? line : `[${note.runId}] ${line}`);
  else if (note.kind === "unmatched") say(`an answer that nobody waits for (${note.why}): ${note.text}`);
  else say(`the executor sent something that cannot be read: ${note.text}`);
}

function withNext(event: RunEvent, resume: string, isKept: boolean): RunEvent {
  if (event.type !== "run_finished" || !isKept || event.tail.status === "completed") return event;
  return { ...event, tail: { ...event.tail, next: [resume] } };
}

/** `k=v`: JSON where it is, text otherwise. */
function readParams(words: readonly string[]): JsonObject {
  return Object.fromEntries(
    words.map((word) => {
      const at = word.indexOf("=");
      if (at < 1) throw new RolloutError("usage_invalid", `--param ${word}: write it as name=value`);
      return [word.slice(0, at), readValue(word.slice(at + 1))];
    }),
  );
}

function readValue(text: string): Json {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return text;
  }
}

/** The name, or with `-2`, `-3` behind it when it is taken. */
function freeName(outputDir: string, name: string): string {
  if (!existsSync(join(outputDir, name))) return name;
  for (let n = 2; ; n++) if (!existsSync(join(outputDir, `${name}-${n}`))) return `${name}-${n}`;
}

function stamp(now: number): string {
  return new Date(now).toISOString().slice(0, 19).replaceAll(/[:T]/g, "-");
}

function exitCodeOfExperiment(summary: ExperimentSummary, received: SignalName | null): number {
  if (received !== null) return exitCodeOfSignal(received);
  const { status, failed, skipped, failedEvaluations } = summary;
  return status === "completed" && failed + skipped + failedEvaluations === 0 ? exitCodes.done : exitCodes.incomplete;
}

function summaryJson(summary: ExperimentSummary, exitCode: number): Json {
  return {
    schema_version: 1,
    exit_code: exitCode,
    experiment_id: summary.id,
    status: summary.status,
    total_runs: summary.totalRuns,
    successful_runs: summary.succeeded,
    failed_runs: summary.failed,
    skipped_runs: summary.skipped,
    failed_evaluations: summary.failedEvaluations,
    average_scores: summary.averageScores,
    aggregate_scores: Object.fromEntries(summary.aggregates.map(({ aggregate, score }) => [aggregate, score])),
    error: summary.error,
    location: summary.location,
  };
}
