import { openAnsweredFile } from "./answered-file.ts";
import { runExperiment, type DueRun, type ExperimentRunOptions } from "./experiment-run.ts";

export interface PhasedOptions extends ExperimentRunOptions {
  /** For people: how many tasks have been answered. */
  readonly onAnswered: (count: number) => void;
}

/** All tasks first, then all evaluations. */
export async function runPhased(options: PhasedOptions): Promise<void> {
  await using answered = await openAnsweredFile();
  let count = 0;
  await runExperiment({
    ...options,
    evaluators: [],
    // A run is told of when its evaluations begin: a display cannot hold all that have only been answered.
    onStarted: () => {},
    async onFinished(finished) {
      if (finished.failureType === "run_cancelled") return;
      options.onAnswered(++count);
      await answered.add(finished);
    },
  });
  const runs = answered.read()[Symbol.asyncIterator]();
  await runExperiment({
    ...options,
    async nextRun(): Promise<DueRun | null> {
      const { value, done } = await runs.next();
      return done === true ? null : value;
    },
  });
}
