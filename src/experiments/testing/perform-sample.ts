import type { Clock } from "../../base/clock.ts";
import { toRaw } from "../../base/raw-json.ts";
import type { RunEvent } from "../../store/run.ts";
import type { EventListener } from "../../store/run-events.ts";
import type { ExampleSource } from "../examples/example-source.ts";
import type { PoolMember } from "../executor/executor-pool.ts";
import { readEarlierSessions } from "../output/earlier-sessions.ts";
import type { ExperimentOutput } from "../output/experiment-output.ts";
import { toRescoredRun, type ExperimentRepository } from "../output/experiment-repository.ts";
import { performExperiment } from "../perform-experiment.ts";
import type { ExperimentOutcome } from "../run/experiment-tally.ts";
import { openMemoryExecutor, type MemoryExecutorOptions } from "./memory-executor.ts";
import { sampleExperiment } from "./sample-experiment.ts";

/** Ten examples, which sample experiments run twice. */
const tenExamples: ExampleSource = {
  name: "ten.jsonl",
  dataset: null,
  count: 10,
  hash: "ten",
  plainFile: null,
  async *read() {
    yield Array.from({ length: 10 }, (_, at) => ({ id: `e${at}`, input: toRaw(at), output: null, metadata: null }));
  },
};

export interface SampleRequest extends MemoryExecutorOptions {
  readonly repository: ExperimentRepository;
  /** An experiment to resume or to score again. Default: a new one. */
  readonly id?: string | undefined;
  readonly isRescore?: boolean | undefined;
  readonly isPhased?: boolean | undefined;
  readonly evaluatesFailed?: boolean | undefined;
  readonly clock: Clock;
  readonly signal?: AbortSignal | undefined;
  readonly onEvent?: EventListener | undefined;
  /** Default: an executor that the options describe. */
  readonly startExecutor?: (() => Promise<PoolMember>) | undefined;
  /** Changes the output, so that a call of it fails. */
  readonly wrap?: ((output: ExperimentOutput) => ExperimentOutput) | undefined;
}

/** Performs a session of an experiment over ten examples, two at a time, and returns its events. */
export async function performSample(
  request: SampleRequest,
): Promise<{ readonly outcome: ExperimentOutcome; readonly events: readonly RunEvent[] }> {
  const { repository, id, isRescore = false, clock, wrap = (output) => output } = request;
  const events: RunEvent[] = [];
  const known = id === undefined ? null : await repository.find(id);
  const openOutput = (): Promise<ExperimentOutput> => {
    if (id === undefined) return repository.begin(sampleExperiment(tenExamples), tenExamples);
    return isRescore ? repository.rescore(id) : repository.resume(id);
  };
  const outcome = await performExperiment({
    startExecutor: request.startExecutor ?? (async () => openMemoryExecutor(request)),
    params: {},
    repetitions: 2,
    processes: 1,
    rules: {
      maxWorkers: 2,
      taskLimitMs: 60_000,
      evalLimitMs: 60_000,
      evaluatesFailed: request.evaluatesFailed === true,
    },
    isPhased: request.isPhased === true,
    passAt: 1,
    examples: () => tenExamples.read(),
    earlier: known === null ? undefined : readEarlierSessions(known),
    rescore: isRescore
      ? { file: "y.py", runs: (evaluators) => storedRuns(repository, id ?? "", evaluators) }
      : undefined,
    openOutput: async () => wrap(await openOutput()),
    clock,
    signal: request.signal ?? new AbortController().signal,
    onEvent: async (event) => {
      events.push(event);
      await request.onEvent?.(event);
    },
  });
  return { outcome, events };
}

async function* storedRuns(repository: ExperimentRepository, id: string, evaluators: readonly string[]) {
  for await (const stored of repository.runs(id)) yield { run: stored.run, known: toRescoredRun(stored, evaluators) };
}
