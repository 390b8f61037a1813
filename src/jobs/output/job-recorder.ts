import type { Clock, Timer } from "../../base/clock.ts";
import type { Log } from "../../base/log.ts";
import type { Redactor } from "../../base/redactor.ts";
import { messageOf } from "../../base/rollout-error.ts";
import { writeJsonAtomic } from "../../base/writers/atomic-file.ts";
import type { Run, Unit } from "../../store/run.ts";
import type { JobJournal, TaskReadLine } from "./job-journal.ts";
import type { JobPaths } from "./job-paths.ts";
import { compactRun } from "./compact-run.ts";
import type { JobRegistration } from "./job-registration.ts";
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
  /** The job as a run, made from its result. */
  readonly toRun: (result: JobResultFile) => Run;
  readonly registration: JobRegistration | null;
}

const restMs = 1000;
const runFileIntervalMs = 30_000;
// Writing result.json takes at most 1/20 of the time of a job with very many trials.
const shareOfTime = 20;

/**
 * Puts results on disk the moment they exist. result.json is at most about a second behind, run.json 30 seconds.
 */
export class JobRecorder implements Disposable {
  readonly #options: JobRecorderOptions;
  #timer: Timer | undefined;
  #writing: Promise<void> | undefined;
  #nextRestMs = restMs;
  #isBehind = false;
  #runTimer: Timer | undefined;
  #writingRun: Promise<void> = Promise.resolve();
  readonly #notes: TaskReadLine[] = [];

  constructor(options: JobRecorderOptions) {
    this.#options = options;
  }

  /** Writes run.json now, and again every 30 seconds until `close`. */
  async start(): Promise<void> {
    const repeat = (): void => {
      this.#runTimer = this.#options.clock.startTimer(runFileIntervalMs, () => {
        void this.writeRun();
        repeat();
      });
    };
    repeat();
    await this.writeRun();
  }

  /** Adds a line that explains results. It is written with the next result, so that it costs no sync of its own. */
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

  /** Counts a trial whose environment is removed. */
  count(index: number, result: TrialResultFile, unit: Unit): void {
    const { tally, journal } = this.#options;
    tally.add(index, result);
    const { teardown, error, warnings } = result;
    // Not awaited: the reward is safe already, and a journal that cannot be written was noticed there.
    const artifactCount = unit.artifacts.length;
    journal
      .append({ type: "trial_torn_down", index, teardown, error, warnings, artifact_count: artifactCount })
      .catch(() => {});
    this.#options.registration?.add(unit);
    this.touch();
  }

  /** Rewrites result.json soon, although no trial has ended. */
  touch(): void {
    this.#isBehind = true;
    this.#schedule();
  }

  /** Writes the final result.json. Nothing is written after that. A failure to write is returned, not thrown. */
  async close(): Promise<{ readonly result: JobResultFile; readonly failure: unknown }> {
    this[Symbol.dispose]();
    await this.#writing;
    this[Symbol.dispose]();
    const result = this.#options.tally.result(this.#options.state());
    try {
      await this.#writeResult(result);
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
    this.#writing = this.#writeResult(tally.result(state()))
      .catch((error: unknown) =>
        log.write("warn", "the job's result.json could not be replaced", { error: messageOf(error) }),
      )
      .finally(() => {
        this.#nextRestMs = Math.max(restMs, (clock.monotonic() - from) * shareOfTime);
        this.#timer = undefined;
        // Results that were counted during the write are missing in the file.
        if (this.#isBehind) this.#schedule();
      });
  }

  async #writeResult(result: JobResultFile): Promise<void> {
    await writeJsonAtomic(this.#options.paths.result, result, this.#options.redactor);
  }

  /** Replaces run.json. A failure is only logged: the file repeats what the journal contains. Default: the current run. */
  async writeRun(given?: Run): Promise<void> {
    const { paths, redactor, log, tally, state, toRun } = this.#options;
    const run = given ?? toRun(tally.result(state()));
    // One after the other, so that the last one stays.
    this.#writingRun = this.#writingRun
      .then(() => writeJsonAtomic(paths.run, compactRun(run), redactor))
      .catch((error: unknown) => log.write("warn", "run.json could not be replaced", { error: messageOf(error) }));
    await this.#writingRun;
  }

  [Symbol.dispose](): void {
    this.#timer?.clear();
    this.#runTimer?.clear();
  }
}
