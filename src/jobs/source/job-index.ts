import type { FileHandle } from "node:fs/promises";
import { LineTail } from "../../base/line-tail.ts";
import { openRegularFile } from "../../base/open-regular-file.ts";
import type { Unit } from "../../store/run.ts";
import type { JournalLine } from "../output/job-journal.ts";
import { jobPaths, type JobPaths } from "../output/job-paths.ts";
import type { TrialResultFile } from "../output/trial-result-schema.ts";
import { toUnit } from "../output/trial-unit.ts";
import { mapBounded } from "../tasks/map-bounded.ts";
import { parseJournalLine } from "./journal-lines.ts";
import type { IndexedTrial } from "./indexed-trial.ts";
import { JournalState } from "./journal-state.ts";
import { listTrialArtifacts } from "./trial-artifact.ts";

const maxReads = 8;

/** The journal of one job in memory. Every `refresh` reads only what was added since the last one. */
export class JobIndex {
  readonly paths: JobPaths;
  readonly #tail: LineTail;
  #state = new JournalState();
  #turn: Promise<unknown> = Promise.resolve();

  constructor(dir: string) {
    this.paths = jobPaths(dir);
    this.#tail = new LineTail(this.paths.journal, {
      onLine: (bytes, start, end) => {
        const line = parseJournalLine(bytes);
        if (line) this.#state.take(line, { start, end });
      },
      onRestart: () => (this.#state = new JournalState()),
    });
  }

  /** The journal as of the last `refresh`. It is replaced when the journal file is. */
  get state(): JournalState {
    return this.#state;
  }

  /** The end of the last complete line. */
  get offset(): number {
    return this.#tail.offset;
  }

  /** Differs between two journals; empty before the first `refresh`. */
  get identity(): string {
    return this.#tail.identity ?? "";
  }

  /** Reads the lines that were added. Returns false if the directory holds no job that has started. */
  refresh(): Promise<boolean> {
    const reading = this.#turn.then(async () => (await this.#tail.read()) && this.#state.started !== null);
    this.#turn = reading.catch(() => {});
    return reading;
  }

  /** Reads trials as units, with the files that exist now. A trial whose lines are gone is left out. */
  async readUnits(trials: readonly IndexedTrial[]): Promise<Unit[]> {
    await using file = await openRegularFile(this.paths.journal);
    if (file === null) return [];
    const units = await mapBounded(trials, maxReads, async (trial) => {
      const result = await readResult(file.handle, trial);
      if (result === null) return null;
      const { key, index } = trial.row;
      const unit = toUnit(result, index, await listTrialArtifacts(this, key));
      return unit.key === key ? unit : null;
    });
    return units.filter((unit) => unit !== null);
  }
}

async function readResult(handle: FileHandle, trial: IndexedTrial): Promise<TrialResultFile | null> {
  const finished = await readLine(handle, trial.finishedStart, trial.finishedEnd);
  if (finished?.type !== "trial_finished") return null;
  if (trial.tornDownEnd === 0) return finished.result;
  const tornDown = await readLine(handle, trial.tornDownStart, trial.tornDownEnd);
  if (tornDown?.type !== "trial_torn_down") return null;
  const { error, warnings, teardown } = tornDown;
  return { ...finished.result, error, warnings, teardown };
}

async function readLine(handle: FileHandle, start: number, end: number): Promise<JournalLine | null> {
  const bytes = Buffer.allocUnsafe(end - start);
  const { bytesRead } = await handle.read(bytes, 0, bytes.length, start);
  return parseJournalLine(bytes.subarray(0, bytesRead));
}
