import fc from "fast-check";
import { expect, test } from "vitest";
import { systemClock } from "../../base/clock.ts";
import { toRaw, type RawJson } from "../../base/raw-json.ts";
import { ExecutorPool, type PoolMember } from "../executor/executor-pool.ts";
import { ExecutorLost, type EvalOutcome } from "../executor/executor.ts";
import type { AnsweredRun, EvaluatedRun } from "../output/experiment-output.ts";
import { openNoOutput } from "../output/no-output.ts";
import { sampleExperiment } from "../testing/sample-experiment.ts";
import { runExperiment, type FinishedRun } from "./experiment-run.ts";
import { runPhased } from "./run-phased.ts";

interface World {
  readonly examples: number;
  readonly evaluators: number;
  readonly maxWorkers: number;
  readonly processes: number;
  readonly isPhased: boolean;
  /** Drawn from one after the other: how long something takes, and whether it takes the executor down (0). */
  readonly fates: readonly number[];
}

const worlds: fc.Arbitrary<World> = fc.record({
  examples: fc.integer({ min: 0, max: 12 }),
  evaluators: fc.integer({ min: 0, max: 3 }),
  maxWorkers: fc.integer({ min: 1, max: 6 }),
  processes: fc.integer({ min: 1, max: 3 }),
  isPhased: fc.boolean(),
  fates: fc.array(fc.integer({ min: 0, max: 12 }), { minLength: 1, maxLength: 40 }),
});

const never = new AbortController().signal;
// Restarts wait; here they need not.
const clock = { ...systemClock, sleep: () => Promise.resolve() } as typeof systemClock;

interface Seen {
  readonly saved: string[];
  readonly finished: FinishedRun[];
  mostInFlight: number;
  tasksAfterEvals: number;
}

async function live(world: World): Promise<Seen> {
  const seen: Seen = { saved: [], finished: [], mostInFlight: 0, tasksAfterEvals: 0 };
  const evaluators = Array.from({ length: world.evaluators }, (_, n) => `v${n}`);
  let inFlight = 0;
  let draws = 0;
  let evals = 0;
  /** An executor in memory whose fate is drawn: it answers late, in any order, or is lost with all that it does. */
  const start = async (): Promise<PoolMember> => {
    const gone = Promise.withResolvers<string>();
    const life = { isOver: false };
    const fate = async <T>(answer: T): Promise<T> => {
      seen.mostInFlight = Math.max(seen.mostInFlight, ++inFlight);
      const drawn = world.fates[draws++ % world.fates.length] ?? 1;
      try {
        for (let n = 0; n < drawn && !life.isOver; n++) await new Promise((resolve) => setImmediate(resolve));
        if (drawn === 0) {
          life.isOver = true;
          gone.resolve("it was drawn");
        }
        if (life.isOver) throw new ExecutorLost("it was drawn");
        return answer;
      } finally {
        inFlight--;
      }
    };
    return {
      discovered: { protocol_version: "1.0", evaluators, params: {} },
      gone: gone.promise,
      stuck: new Promise(() => {}),
      owing: null,
      runTask: ({ runId }) => {
        if (evals > 0) seen.tasksAfterEvals++;
        return fate({ output: toRaw(runId), metadata: null, error: null, isCancelled: false });
      },
      runEval: ({ evaluator }) => {
        evals++;
        return fate({ evaluator, score: 1, label: null, explanation: null, metadata: null, error: null });
      },
      runAggregate: () => Promise.reject(new Error("none")),
      shutdown: async () => gone.resolve("asked to"),
      [Symbol.asyncDispose]: async () => gone.resolve("disposed"),
    };
  };
  await using pool = await ExecutorPool.open({
    processes: world.processes,
    clock,
    signal: never,
    start,
    onRestart: () => {},
  });
  let next = 0;
  const options = {
    pool,
    evaluators,
    params: "{}" as RawJson,
    rules: { maxWorkers: world.maxWorkers, taskLimitMs: 600_000, evalLimitMs: 600_000, evaluatesFailed: false },
    output: {
      ...(await openNoOutput(sampleExperiment())),
      saveTask: async ({ run }: AnsweredRun) => void seen.saved.push(`task ${run.runId}`),
      saveEvaluation: async ({ run, evaluations }: EvaluatedRun, outcome: EvalOutcome) => {
        expect(evaluations).toContain(outcome);
        seen.saved.push(`eval ${run.runId} ${outcome.evaluator}`);
      },
    },
    clock,
    signal: never,
    nextRun: async () => {
      if (next >= world.examples) return null;
      const id = String(next);
      const example = { id, input: "1" as RawJson, output: null, metadata: null };
      return { run: { index: next++, runId: `${id}#1`, example, repetition: 1 }, known: null };
    },
    onStarted: () => {},
    onFinished: (finished: FinishedRun) => void seen.finished.push(finished),
  };
  if (world.isPhased) await runPhased({ ...options, onAnswered: () => {} });
  else await runExperiment(options);
  return seen;
}

test("every run ends once with all its evaluations within the concurrency, whatever executors do", async () => {
  await fc.assert(
    fc.asyncProperty(worlds, async (world) => {
      const { saved, finished, mostInFlight, tasksAfterEvals } = await live(world);
      expect(mostInFlight).toBeLessThanOrEqual(world.maxWorkers);
      if (world.isPhased) expect(tasksAfterEvals).toBe(0);
      const runs = Array.from({ length: world.examples }, (_, n) => `${n}#1`);
      expect(finished.map(({ run }) => run.runId).toSorted()).toEqual(runs.toSorted());
      const due = finished.flatMap(({ run, outcome, evaluations }) => {
        if (outcome.error === null) expect(evaluations).toHaveLength(world.evaluators);
        else expect(outcome.error).toContain("was lost 3 times");
        return [`task ${run.runId}`, ...evaluations.map(({ evaluator }) => `eval ${run.runId} ${evaluator}`)];
      });
      expect(saved.toSorted()).toEqual(due.toSorted());
    }),
    { numRuns: 200 },
  );
});
