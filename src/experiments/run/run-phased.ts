import { openAnsweredFile } from "./answered-file.ts";
import { takeStored } from "./due-runs.ts";
import { runExperiment, type ExperimentRunOptions } from "./experiment-run.ts";

export interface PhasedOptions extends ExperimentRunOptions {
  /** Called with the number of tasks that have been answered. Shown to users. */
  readonly onAnswered: (count: number) => void;
}

/** Runs all tasks first, then all evaluations. After a stop, every run with an answer is reported as it is. */
export async function runPhased(options: PhasedOptions): Promise<void> {
  await using answered = await openAnsweredFile();
  let count = 0;
  let failure: { readonly error: unknown } | null = null;
  try {
    await runExperiment({
      ...options,
      evaluators: [],
      // A run is reported when its evaluations begin: a display cannot hold all that have only been answered.
      onStarted: () => {},
      async onFinished(finished) {
        options.onAnswered(++count);
        await answered.add(finished);
      },
    });
  } catch (error) {
    failure = { error };
  }
  await using runs = takeStored(answered.read());
  await runExperiment({
    ...options,
    // An aborted signal: nothing is evaluated.
    ...(failure === null ? {} : { signal: AbortSignal.abort() }),
    reportsKnown: true,
    nextRun: runs.next,
  });
  if (failure !== null) throw failure.error;
}
