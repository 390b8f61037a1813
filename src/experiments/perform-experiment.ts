import type { Clock } from "../base/clock.ts";
import type { Json, JsonObject } from "../base/json.ts";
import { toRaw } from "../base/raw-json.ts";
import { messageOf } from "../base/rollout-error.ts";
import type { RunListener } from "../store/run.ts";
import { ExecutorPool, type PoolMember } from "./executor/executor-pool.ts";
import type { ExperimentOutput } from "./output/experiment-output.ts";
import type { AggregateAnswer, DiscoverAnswer } from "./protocol.ts";
import { askAggregates, resultLine } from "./run/ask-aggregates.ts";
import { runIdOf, type Example } from "./run/example.ts";
import { runExperiment, type DueRun, type ExperimentRules, type FinishedRun } from "./run/experiment-run.ts";
import { ExperimentTally, type ExperimentSummary } from "./run/experiment-tally.ts";
import { runPhased } from "./run/run-phased.ts";
import { openScratchFile } from "./run/scratch-file.ts";

export interface ExperimentOptions {
  readonly id: string;
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
  readonly examples: () => AsyncIterable<Example>;
  /** Opens where results go once it is known what the experiment is. */
  readonly openOutput: (discovered: DiscoverAnswer, params: JsonObject) => Promise<ExperimentOutput>;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly onEvent: RunListener;
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
      onEvent({ type: "warning", at: clock.now(), message: `an executor was lost and is started again: ${how}` }),
  });
  const { discovered } = pool;
  const params: JsonObject = { ...discovered.params, ...options.params };
  await using output = await options.openOutput(discovered, params);
  const total = options.exampleCount * options.repetitions;
  const { location } = output;
  const tally = new ExperimentTally({ ...options, discovered, location, total, concurrency: rules.maxWorkers });
  let error: string | null = null;
  let aggregates: readonly AggregateAnswer[] = [];
  try {
    aggregates = await performRuns(options, { pool, discovered, params, output, tally });
    await pool.shutdown();
  } catch (thrown) {
    error = messageOf(thrown);
  }
  const summary = tally.end({ error, isCancelled: signal.aborted, aggregates });
  if (error !== null) await output.fail(error);
  else await output.complete(summaryJson(summary));
  return summary;
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
    nextRun: planRuns(options, output),
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

/** Every example as often as it is repeated, in order, with what an earlier sitting left of it. */
function planRuns(
  { examples, repetitions }: ExperimentOptions,
  output: ExperimentOutput,
): () => Promise<DueRun | null> {
  async function* plan(): AsyncGenerator<DueRun, void> {
    let index = 0;
    for await (const example of examples())
      for (let repetition = 1; repetition <= repetitions; repetition++) {
        const runId = runIdOf(example.id, repetition);
        const earlier = output.findEarlier === null ? null : await output.findEarlier(runId);
        // A task that failed is run again.
        const known = earlier === null || earlier.outcome.error !== null ? null : earlier;
        const run = { index: index++, runId, example, repetition };
        yield { run, known: known && { ...known, failureType: null, durationMs: 0 } };
      }
  }
  const runs = plan();
  return async () => {
    const { value, done } = await runs.next();
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

/** The summary as it stands in summary.json. */
function summaryJson(summary: ExperimentSummary): Json {
  return {
    experiment_id: summary.id,
    status: summary.status,
    total_runs: summary.totalRuns,
    successful_runs: summary.succeeded,
    failed_runs: summary.failed,
    skipped_runs: summary.skipped,
    failed_evaluations: summary.failedEvaluations,
    average_scores: summary.averageScores,
    aggregates: summary.aggregates.map(({ aggregate, score, label, explanation, metadata, error }) => ({
      aggregate,
      score,
      label: label ?? null,
      explanation: explanation ?? null,
      metadata: metadata ?? {},
      error: error ?? null,
    })),
  };
}
