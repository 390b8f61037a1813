import type { UnitRow } from "../../store/run.ts";
import {
  planOfJournal,
  type JobEndedLine,
  type JobStartedLine,
  type JournalLine,
  type TrialFinishedLine,
} from "../output/job-journal.ts";
import { trialKey } from "../output/job-paths.ts";
import type { SessionFile } from "../output/job-result-schema.ts";
import { keyOf } from "../output/planned-trial.ts";
import { amendTrial, indexTrial, type IndexedTrial, type LinePlace } from "./indexed-trial.ts";
import { flatCopy, RowPool } from "./row-pool.ts";

/** Everything a journal contains, without texts: at most about 1 KB per trial. */
export class JournalState {
  /** The first line of the latest session; null if the job never started. */
  started: JobStartedLine | null = null;
  /** Where that line starts. */
  startedStart = 0;
  /** The end of the latest session; null while it runs and if its process died. */
  ended: JobEndedLine | null = null;
  /** Grows with every line. */
  version = 0;
  #keys: readonly string[] = [];
  #indexes: ReadonlyMap<string, number> = new Map();
  /** By index in the plan. */
  #trials: (IndexedTrial | undefined)[] = [];
  /** Trials that the latest plan does not contain, by key. A later plan may contain them again. */
  #unplanned = new Map<string, IndexedTrial>();
  /** By index in the tasks of the plan. */
  #taskHashes: (string | undefined)[] = [];
  readonly #pool = new RowPool();
  /** The result of `rows` for a version. */
  #rows: { readonly version: number; readonly all: readonly UnitRow[] } = { version: 0, all: [] };
  #lastTrialEnd = 0;
  #lastChange = 0;

  /** Applies a line that is at a place in the journal. */
  take(line: JournalLine, place: LinePlace): void {
    this.version++;
    this.#lastChange = place.end;
    if (line.type === "job_started") this.#start(line, place);
    else if (line.type === "task_read") this.#setTaskHash(line.dataset, line.task, line.hash);
    else if (line.type === "trial_reopened") this.#reopen(line.index);
    else if (line.type === "trial_finished") this.#finish(line, place);
    else if (line.type === "job_ended") this.ended = line;
    else {
      const known = this.#trials[line.index];
      if (known) this.#trials[line.index] = amendTrial(known, line, place, this.#pool);
    }
  }

  /** Finished trials of the latest plan, in plan order. */
  *trials(): Generator<IndexedTrial> {
    for (const trial of this.#trials) if (trial) yield trial;
  }

  /** Rows of finished trials, in plan order. */
  rows(): readonly UnitRow[] {
    if (this.#rows.version !== this.version)
      this.#rows = { version: this.version, all: Array.from(this.trials(), ({ row }) => row) };
    return this.#rows.all;
  }

  /** Returns finished trials that changed after a place in the journal, in the order of their last change. */
  changedAfter(offset: number): readonly IndexedTrial[] {
    // Most calls find nothing new.
    if (this.#lastChange <= offset) return [];
    const changed = this.trials().filter(({ changedAt }) => changedAt > offset);
    return Array.from(changed).sort((one, other) => one.changedAt - other.changedAt);
  }

  /** Returns null if the plan has no such trial, or if it has not finished. */
  trial(key: string): IndexedTrial | null {
    const index = this.#indexes.get(key);
    return index === undefined ? null : (this.#trials[index] ?? null);
  }

  /** Returns the labels of a planned trial; null if the plan does not contain it. */
  labelsOf(key: string): UnitRow["labels"] | null {
    const index = this.#indexes.get(key);
    return index === undefined ? null : this.#labelsAt(index);
  }

  /** Returns the hash of the task of a planned trial, as the trial used it or as it was last read; null if unknown. */
  taskHash(key: string): string | null {
    const index = this.#indexes.get(key) ?? -1;
    return this.#trials[index]?.taskHash ?? this.#taskHashes[this.#taskIndex(index)] ?? null;
  }

  get sessions(): readonly SessionFile[] {
    if (this.started === null) return [];
    const { started_at: startedAt, earlier_sessions: earlier } = this.started;
    const from = Date.parse(startedAt);
    // If the process died, only the end of its last trial is known.
    const knownSec = Math.round(Math.max(this.#lastTrialEnd, from) - from) / 1000;
    const { ended_at: endedAt = null, duration_sec: durationSec = knownSec } = this.ended ?? {};
    return [...earlier, { started_at: startedAt, ended_at: endedAt, duration_sec: durationSec }];
  }

  #start(line: JobStartedLine, { start }: LinePlace): void {
    const known = [...this.trials(), ...this.#unplanned.values()];
    const tasks = line.tasks.map(({ dataset, task }) => ({ dataset: this.#pool.text(dataset), task }));
    this.started = { ...line, tasks };
    this.startedStart = start;
    this.ended = null;
    this.#lastTrialEnd = 0;
    this.#keys = planOfJournal(this.started).map((trial) => flatCopy(keyOf(trial)));
    this.#indexes = new Map(this.#keys.map((key, index) => [key, index]));
    this.#trials = [];
    this.#taskHashes = [];
    this.#unplanned = new Map();
    for (const trial of known) this.#put(trial);
  }

  #finish(line: TrialFinishedLine, place: LinePlace): void {
    const trial = indexTrial(line, place, this.#pool);
    this.#lastTrialEnd = Math.max(this.#lastTrialEnd, trial.row.endedAt ?? 0);
    this.#put(trial);
  }

  #reopen(index: number): void {
    if (this.#trials[index]) this.#trials[index] = undefined;
  }

  #put(trial: IndexedTrial): void {
    const index = this.#indexes.get(trial.row.key);
    if (index === undefined) this.#unplanned.set(trial.row.key, trial);
    else {
      // With the strings of the plan, so that each is in memory once.
      const row = { ...trial.row, index, key: this.#keys[index] ?? "", labels: this.#labelsAt(index) };
      const lastHash = this.#taskHashes[this.#taskIndex(index)];
      this.#trials[index] = { ...trial, row, taskHash: lastHash === trial.taskHash ? lastHash : trial.taskHash };
    }
  }

  #setTaskHash(dataset: string, task: string, hash: string): void {
    const index = this.#indexes.get(trialKey(this.started?.agents[0] ?? "", dataset, task, 1));
    if (index !== undefined) this.#taskHashes[this.#taskIndex(index)] = hash;
  }

  // The inverse of `planOfJournal`.
  #labelsAt(index: number): UnitRow["labels"] {
    const { agents = [], tasks = [], n_attempts: attempts = 1 } = this.started ?? {};
    const agent = agents[Math.floor(index / (tasks.length * attempts))] ?? "";
    const { dataset = "", task = "" } = tasks[this.#taskIndex(index)] ?? {};
    return { agent, dataset, task, attempt: String((index % attempts) + 1) };
  }

  #taskIndex(index: number): number {
    const { tasks = [], n_attempts: attempts = 1 } = this.started ?? {};
    return Math.floor((index % (tasks.length * attempts)) / attempts);
  }
}
