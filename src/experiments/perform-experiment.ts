import type { Clock } from "../base/clock.ts";
import type { JsonObject } from "../base/json.ts";
import { toRaw } from "../base/raw-json.ts";
import { messageOf } from "../base/rollout-error.ts";
import type { RunListener } from "../store/run.ts";
import { ExecutorPool, type PoolMember } from "./executor/executor-pool.ts";
import type { ProblemCounter } from "./executor/protocol-problems.ts";
import type { EarlierSessions } from "./output/earlier-sessions.ts";
import type { ExperimentOutput } from "./output/experiment-output.ts";
import type { AggregateAnswer, DiscoverAnswer } from "./protocol.ts";
import { askAggregates, resultLine } from "./run/ask-aggregates.ts";
import type { Example, PlannedRun } from "./run/example.ts";
import {
  runExperiment,
  type DueRun,
  type ExperimentRules,
  type ExperimentRunOptions,
  type FinishedRun,
} from "./run/experiment-run.ts";
import { ExperimentTally, type ExperimentSummary, type TallyOptions } from "./run/experiment-tally.ts";
import { planRuns } from "./run/plan-runs.ts";
import { runPhased } from "./run/run-phased.ts";
import { openScratchFile } from "./run/scratch-file.ts";

export interface ExperimentOptions {
  readonly id: string;
  /** What it is shown under when neither it nor its record has a name. */
  readonly name?: string | undefined;
  /** Starts an executor that takes so many things at a time. */
  readonly startExecutor: (maxWorkers: number) => Promise<PoolMember>;
  /** Over the discovered ones. */
  readonly params: JsonObject;
  readonly repetitions: number;
  readonly processes: number;
  readonly rules: ExperimentRules;
  /** All tasks before the first evaluation. */
  readonly isPhased: boolean;
  /** How many examples there are. */
  readonly exampleCount: number;
  readonly examples: () => AsyncIterable<Iterable<Example>>;
  /** A run passes whose first evaluator gives at least this. */
  readonly passAt: number;
  /** What is known of an experiment that is taken up again or scored anew. */
  readonly earlier?: EarlierSessions | undefined;
  /** Evaluates outputs that are there instead of running the examples. */
  readonly rescore?: Rescore | undefined;
  /** What else people should know of it, a line each. */
  readonly notes?: readonly string[] | undefined;
  /** Commands worth typing next. */
  readonly next?: TallyOptions["next"] | undefined;
  /** Opens where results go once it is known what the experiment is. */
  readonly openOutput: (discovered: DiscoverAnswer, params: JsonObject) => Promise<ExperimentOutput>;
  /** Counts the notes of the executors. Default: none are counted. */
  readonly problems?: ProblemCounter | undefined;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Ends executors at once, whatever they are doing. */
  readonly forceSignal?: AbortSignal | undefined;
  /** Null when nobody listens. */
  readonly onEvent: RunListener | null;
}

/** Runs of an earlier experiment whose tasks are not run again. */
export interface Rescore {
  /** The file whose evaluators are asked, as it was typed. */
  readonly file: string;
  /** In what is known of them there is no word of these evaluators, which are asked again. */
  readonly runs: (evaluators: readonly string[]) => AsyncIterable<DueRun>;
}

/** Runs an experiment from its discovery to the shutdown of its executors. Rejects only before the first task. */
export async function performExperiment(options: ExperimentOptions): Promise<ExperimentSummary> {
  const { clock, signal, rules, onEvent, processes } = options;
  await using pool = await ExecutorPool.open({
    processes,
    clock,
    signal,
    start: () => options.startExecutor(Math.ceil(rules.maxWorkers / processes)),
    onRestart: (how) =>
      onEvent?.({ type: "warning", at: clock.now(), message: `an executor was lost and is started again: ${how}` }),
  });
  using _force = killOn(options.forceSignal, pool);
  const { discovered } = pool;
  const params: JsonObject = { ...discovered.params, ...options.params };
  await using output = await options.openOutput(discovered, params);
  const total = options.exampleCount * options.repetitions;
  const { location } = output;
  const { earlier = null, rescore, next = () => [] } = options;
  const tally = new ExperimentTally({
    ...options,
    name: earlier?.name ?? discovered.name ?? options.name ?? options.id,
    evaluators: [...new Set([...(earlier?.evaluators ?? []), ...discovered.evaluators])],
    params: earlier?.params ?? params,
    earlier,
    scoring: rescore ? { file: rescore.file, evaluators: discovered.evaluators, params } : null,
    notes: options.notes ?? [],
    next,
    location,
    total,
    concurrency: rules.maxWorkers,
  });
  let cause: unknown = null;
  let aggregates: readonly AggregateAnswer[] = [];
  try {
    aggregates = await performRuns(options, { pool, discovered, params, output, tally });
    await pool.shutdown();
  } catch (thrown) {
    cause = thrown;
  }
  const summary = tally.end({ cause, isCancelled: signal.aborted, aggregates });
  try {
    await output.end(summary);
    return summary;
  } catch (thrown) {
    if (summary.error !== null) return summary;
    return { ...summary, status: "failed", error: `its end could not be kept: ${messageOf(thrown)}`, cause: thrown };
  }
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
  const run = {
    pool,
    evaluators: discovered.evaluators,
    params,
    rules,
    output,
    clock,
    signal,
    nextRun: options.rescore
      ? takeInTurn(options.rescore.runs(discovered.evaluators))
      : takeEach(planRuns(options.examples(), options.repetitions), output.findEarlier),
    onStarted: tally.begin.bind(tally),
    onFinished(finished: FinishedRun) {
      tally.finish(finished);
      return results?.append(resultLine(finished));
    },
  };
  if (options.isPhased) await runPhased({ ...run, onAnswered: tellRarely(clock, (text) => tally.tell(text)) });
  else await runExperiment(run);
  if (results === null) return [];
  return await askAggregates({ ...run, names, resultsPath: results.path, limitMs: rules.evalLimitMs });
}

/** Each planned run in its turn, with what an earlier session left of it; at once where nothing has to be waited for. */
function takeEach(
  planned: AsyncIterable<Iterable<PlannedRun>>,
  findEarlier: ExperimentOutput["findEarlier"],
): ExperimentRunOptions["nextRun"] {
  const groups = planned[Symbol.asyncIterator]();
  let group: Iterator<PlannedRun> = [].values();
  const find = async (run: PlannedRun): Promise<DueRun> => ({ run, known: (await findEarlier?.(run)) ?? null });
  const takeHere = (): DueRun | Promise<DueRun> | null => {
    const { value, done } = group.next();
    if (done === true) return null;
    return findEarlier === null ? { run: value, known: null } : find(value);
  };
  const takeNext = async (): Promise<DueRun | null> => {
    for (;;) {
      const next = await groups.next();
      if (next.done === true) return null;
      group = next.value[Symbol.iterator]();
      const due = takeHere();
      if (due !== null) return await due;
    }
  };
  return () => takeHere() ?? takeNext();
}

function takeInTurn(runs: AsyncIterable<DueRun>): ExperimentRunOptions["nextRun"] {
  const iterator = runs[Symbol.asyncIterator]();
  return async () => {
    const { value, done } = await iterator.next();
    return done === true ? null : value;
  };
}

function tellRarely(clock: Clock, tell: (text: string) => void): (count: number) => void {
  let toldAt = clock.monotonic();
  return (count) => {
    if (clock.monotonic() - toldAt < 1000) return;
    toldAt = clock.monotonic();
    tell(`tasks: ${count} answered; evaluations come after the last`);
  };
}
