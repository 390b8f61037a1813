import type { Clock, Timer } from "../../base/clock.ts";
import type { Log } from "../../base/log.ts";
import type { Redactor } from "../../base/redactor.ts";
import { messageOf } from "../../base/rollout-error.ts";
import { writeJsonAtomic } from "../../base/writers/atomic-file.ts";
import type { JobJournal, TaskReadLine } from "./job-journal.ts";
import type { JobPaths } from "./job-paths.ts";
import type { JobResultFile } from "./job-result-schema.ts";
import type { JobTally, TallyEnd } from "./job-tally.ts";
import type { TrialResultFile } from "./trial-result-schema.ts";

export interface JobRecorderOptions {
  readonly paths: JobPaths;
  readonly journal: JobJournal;
  readonly tally: JobTally;
  readonly clock: Clock;
  readonly redactor: Redactor;
  readonly log: Log;
  /** The state of the job at this instant. */
  readonly state: () => TallyEnd;
}

const restMs = 1000;
// A job of very many trials must not spend its time on writing the same summary again and again.
const shareOfTime = 20;

/** Puts results on disk the moment they exist, and keeps the job's result.json no more than about a second behind. */
export class JobRecorder {
  readonly #options: JobRecorderOptions;
  #timer: Timer | undefined;
  #writing: Promise<void> | undefined;
  #nextRestMs = restMs;
  #isBehind = false;
  readonly #notes: TaskReadLine[] = [];

  constructor(options: JobRecorderOptions) {
    this.#options = options;
  }

  /** Takes a line that only explains results; it is written with the next of them, so that it costs no sync of its own. */
  note(line: TaskReadLine): void {
    this.#notes.push(line);
  }

  /** Counts a result as soon as there is one; resolves once it is safe from a crash. */
  async record(index: number, result: TrialResultFile): Promise<void> {
    const { journal, tally } = this.#options;
    tally.add(index, result);
    const notes = this.#notes.splice(0).map((line) => journal.append(line));
    await Promise.all([...notes, journal.append({ type: "trial_finished", index, result })]);
  }

  /** Counts a trial again that has ended for good, with what became of its environment. */
  count(index: number, result: TrialResultFile): void {
    const { tally, journal } = this.#options;
    tally.add(index, result);
    const { teardown, error, warnings } = result;
    // Nobody waits for it: the reward is safe already, and a journal that cannot be written has been noticed there.
    if (teardown) journal.append({ type: "trial_torn_down", index, teardown, error, warnings }).catch(() => {});
    this.touch();
  }

  /** Has result.json renewed soon, although no trial has ended. */
  touch(): void {
    this.#isBehind = true;
    this.#schedule();
  }

  /** Writes the last result.json; nothing is written after that. What keeps it from being written is told, not thrown. */
  async close(): Promise<{ readonly result: JobResultFile; readonly failure: unknown }> {
    this.#timer?.clear();
    await this.#writing;
    this.#timer?.clear();
    const result = this.#options.tally.result(this.#options.state());
    try {
      await this.#write(result);
      return { result, failure: null };
    } catch (failure) {
      return { result, failure };
    }
  }

  #schedule(): void {
    this.#timer ??= this.#options.clock.startTimer(this.#nextRestMs, () => this.#refresh());
  }

  #refresh(): void {
    const { clock, tally, log, state } = this.#options;
    const from = clock.monotonic();
    this.#isBehind = false;
    this.#writing = this.#write(tally.result(state()))
      .catch((error: unknown) =>
        log.write("warn", "the job's result.json could not be replaced", { error: messageOf(error) }),
      )
      .finally(() => {
        this.#nextRestMs = Math.max(restMs, (clock.monotonic() - from) * shareOfTime);
        this.#timer = undefined;
        // What was counted during the writing is not in it.
        if (this.#isBehind) this.#schedule();
      });
  }

  async #write(result: JobResultFile): Promise<void> {
    await writeJsonAtomic(this.#options.paths.result, result, this.#options.redactor);
  }
}
