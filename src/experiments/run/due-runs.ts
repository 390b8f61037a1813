import type { ExperimentOutput } from "../output/experiment-output.ts";
import { toEarlierRun } from "../output/experiment-repository.ts";
import type { PlannedRun } from "./example.ts";
import type { DueRun, ExperimentRunOptions } from "./experiment-run.ts";

/** The runs of a session, one after the other. Disposing it closes what they are read from. */
export interface DueRuns extends AsyncDisposable {
  readonly next: ExperimentRunOptions["nextRun"];
}

/** Returns planned runs, with what earlier sessions stored of them. */
export function takePlanned(
  planned: AsyncIterable<Iterable<PlannedRun>>,
  findStored: ExperimentOutput["findStored"],
): DueRuns {
  const groups = planned[Symbol.asyncIterator]();
  let group: Iterator<PlannedRun> = [].values();
  const takeHere = (): DueRun | Promise<DueRun> | null => {
    const { value, done } = group.next();
    if (done === true) return null;
    return findStored === null ? { run: value, known: null } : toDueRun(value, findStored);
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
  return { next: () => takeHere() ?? takeNext(), [Symbol.asyncDispose]: () => close(groups) };
}

/** Returns runs whose tasks are not run. */
export function takeStored(runs: AsyncIterable<DueRun>): DueRuns {
  const iterator = runs[Symbol.asyncIterator]();
  return {
    async next() {
      const { value, done } = await iterator.next();
      return done === true ? null : value;
    },
    [Symbol.asyncDispose]: () => close(iterator),
  };
}

async function close(iterator: AsyncIterator<unknown>): Promise<void> {
  await iterator.return?.();
}

async function toDueRun(run: PlannedRun, findStored: NonNullable<ExperimentOutput["findStored"]>): Promise<DueRun> {
  const stored = await findStored(run);
  if (stored === null) return { run, known: null };
  const known = toEarlierRun(stored);
  if (known !== null) return { run, known };
  return { run, known, replaced: { ...stored, evaluations: [...stored.evaluations.values()] } };
}
