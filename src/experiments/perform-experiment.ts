import type { Clock, Timer } from "../base/clock.ts";
import type { JsonObject } from "../base/json.ts";
import { toRaw } from "../base/raw-json.ts";
import type { EventListener } from "../store/run-events.ts";
import { leaseTimeoutMs } from "../store/run-store.ts";
import { ExecutorPool, type PoolMember } from "./executor/executor-pool.ts";
import type { ProblemCounter } from "./executor/protocol-problems.ts";
import { readPlan } from "./output/plan-experiment.ts";
import type { EarlierSessions } from "./output/earlier-sessions.ts";
import type { ExperimentOutput } from "./output/experiment-output.ts";
import type { AggregateAnswer, DiscoverAnswer } from "./protocol.ts";
import { askAggregates, resultLine } from "./run/ask-aggregates.ts";
import { takePlanned, takeStored } from "./run/due-runs.ts";
import type { Example } from "./run/example.ts";
import { runExperiment, type DueRun, type ExperimentRules, type FinishedRun } from "./run/experiment-run.ts";
import { ExperimentTally, type ExperimentOutcome, type TallyOptions } from "./run/experiment-tally.ts";
import { planRuns } from "./run/plan-runs.ts";
import { runPhased } from "./run/run-phased.ts";
import { openScratchFile } from "./run/scratch-file.ts";

export type { ExperimentOutcome };

export interface ExperimentOptions {
  /** Starts an executor that takes so many tasks and evaluations at a time. */
  readonly startExecutor: (maxWorkers: number) => Promise<PoolMember>;
  /** They replace the discovered ones. */
  readonly params: JsonObject;
  readonly repetitions: number;
  readonly processes: number;
  readonly rules: ExperimentRules;
  /** Runs all tasks before the first evaluation. */
  readonly isPhased: boolean;
  readonly examples: () => AsyncIterable<Iterable<Example>>;
  /** A run passes if its first evaluator gives at least this. */
  readonly passAt: number;
  /** Set if the experiment is resumed or scored again. */
  readonly earlier?: EarlierSessions | undefined;
  /** Evaluates stored outputs instead of running the examples. */
  readonly rescore?: Rescore | undefined;
  /** Remarks for people, a line each. */
  readonly notes?: readonly string[] | undefined;
  /** Commands to type next. */
  readonly next?: TallyOptions["next"] | undefined;
  /** Opens the output. Called once the executor has described the experiment. */
  readonly openOutput: (discovered: DiscoverAnswer, params: JsonObject) => Promise<ExperimentOutput>;
  /** Counts the notes of the executors. Default: none are counted. */
  readonly problems?: ProblemCounter | undefined;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Ends executors at once, whatever they are doing. */
  readonly forceSignal?: AbortSignal | undefined;
  /** Null if there is no listener. */
  readonly onEvent: EventListener | null;
}

/** Scores stored outputs again. */
export interface Rescore {
  /** The file with the evaluators, as it was typed. */
  readonly file: string;
  /** Yields the stored runs; `toRescoredRun` makes what is known of each. These evaluators are asked. */
  readonly runs: (evaluators: readonly string[]) => AsyncIterable<DueRun>;
}

/** Runs an experiment from its discovery to the shutdown of its executors. Rejects only before the first task. */
export async function performExperiment(options: ExperimentOptions): Promise<ExperimentOutcome> {
  const { clock, signal, rules, onEvent, processes } = options;
  const warnings: string[] = [];
  let warn = (message: string): void => void warnings.push(message);
  await using pool = await ExecutorPool.open({
    processes,
    clock,
    signal,
    start: () => options.startExecutor(Math.ceil(rules.maxWorkers / processes)),
    onRestart: (how) => warn(`an executor was lost and is restarted: ${how}`),
  });
  using _force = killOn(options.forceSignal, pool);
  const { discovered } = pool;
  const params: JsonObject = { ...discovered.params, ...options.params };
  await using output = await options.openOutput(discovered, params);
  const { earlier = null, rescore, next = () => [] } = options;
  const { experiment } = readPlan(output.run);
  const tally = new ExperimentTally({
    run: output.run,
    experiment,
    repetitions: options.repetitions,
    passAt: options.passAt,
    evaluators: [...new Set([...(earlier?.evaluators ?? []), ...discovered.evaluators])],
    params: earlier?.run.params ?? params,
    earlier,
    scoring: rescore ? { file: rescore.file, evaluators: discovered.evaluators, params } : null,
    notes: options.notes ?? [],
    next,
    problems: options.problems,
    clock,
    onEvent,
  });
  await tally.start();
  warn = (message) => tally.warn(message);
  for (const message of warnings) warn(message);
  const updates = startUpdates(clock, () => output.update(tally.describe()));
  let cause: unknown = null;
  let aggregates: readonly AggregateAnswer[] = [];
  try {
    aggregates = await performRuns(options, { pool, discovered, params, output, tally });
    await pool.shutdown();
  } catch (thrown) {
    cause = thrown;
  }
  // An update that is written after the end would mark the experiment as running.
  await updates.stop();
  const end = { cause, isCancelled: signal.aborted, aggregates };
  return await tally.end(end, (run, summary) => output.end(run, summary));
}

const updateIntervalMs = leaseTimeoutMs / 3;

/** Updates the stored run now and at regular intervals. Stopping waits for an update that is being written. */
function startUpdates(clock: Clock, update: () => Promise<void>): { stop(): Promise<void> } {
  let isStopped = false;
  let updating = Promise.resolve();
  let timer: Timer | null = null;
  const run = async (): Promise<void> => {
    await update();
    if (!isStopped) timer = clock.startTimer(updateIntervalMs, start);
  };
  const start = (): void => void (updating = run());
  start();
  return {
    stop() {
      isStopped = true;
      timer?.clear();
      return updating;
    },
  };
}

function killOn(signal: AbortSignal | undefined, pool: ExecutorPool): Disposable {
  const kill = (): void => void pool[Symbol.asyncDispose]();
  if (signal?.aborted === true) kill();
  signal?.addEventListener("abort", kill, { once: true });
  return { [Symbol.dispose]: () => signal?.removeEventListener("abort", kill) };
}

interface Performance {
  readonly pool: ExecutorPool;
  readonly discovered: DiscoverAnswer;
  readonly params: JsonObject;
  readonly output: ExperimentOutput;
  readonly tally: ExperimentTally;
}

async function performRuns(options: ExperimentOptions, performance: Performance): Promise<AggregateAnswer[]> {
  const { rules, clock, signal } = options;
  const { pool, discovered, output, tally } = performance;
  const names = discovered.aggregates ?? [];
  await using results = names.length === 0 ? null : await openScratchFile();
  const params = toRaw(performance.params);
  await using runs = options.rescore
    ? takeStored(options.rescore.runs(discovered.evaluators))
    : takePlanned(planRuns(options.examples(), options.repetitions), output.findStored);
  const run = {
    pool,
    evaluators: discovered.evaluators,
    params,
    rules,
    output,
    clock,
    signal,
    nextRun: runs.next,
    reportsKnown: output.findStored !== null,
    onStarted: tally.begin.bind(tally),
    async onFinished(finished: FinishedRun) {
      await tally.finish(finished);
      await results?.append(resultLine(finished));
    },
  };
  if (options.isPhased)
    await runPhased({ ...run, onAnswered: reportRarely(clock, (text) => tally.reportActivity(text)) });
  else await runExperiment(run);
  if (results === null) return [];
  return await askAggregates({ ...run, names, resultsPath: results.path, limitMs: rules.evalLimitMs });
}

function reportRarely(clock: Clock, report: (text: string) => void): (count: number) => void {
  let reportedAt = clock.monotonic();
  return (count) => {
    if (clock.monotonic() - reportedAt < 1000) return;
    reportedAt = clock.monotonic();
    report(`tasks: ${count} answered; evaluations come after the last`);
  };
}
