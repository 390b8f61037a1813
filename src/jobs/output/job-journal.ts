import { openJournal, readJournal, type Journal } from "../../base/writers/journal.ts";
import type { Redactor } from "../../base/redactor.ts";
import type { Metric } from "../config/job.ts";
import type { TaskDigest } from "../inputs/hash-task.ts";
import { keyOf, type PlannedTrial } from "./planned-trial.ts";
import { trialKey } from "./job-paths.ts";
import type { SessionFile } from "./job-result-schema.ts";
import type { TrialResultFile } from "./trial-result-schema.ts";

/** The first line of each session in a journal: enough to know the whole plan without any other file. */
export interface JobStartedLine {
  readonly type: "job_started";
  readonly schema_version: 1;
  /** Of this session: environments carry it. */
  readonly run_id: string;
  /** Of the job, the same in all sessions. */
  readonly job_id: string;
  /** From 1; each time a job is taken up it counts one more. */
  readonly session: number;
  readonly job_name: string;
  /** The file the job was read from; null when it was given in code or on the command line. */
  readonly job_file: string | null;
  /** What relative paths of the job start from. */
  readonly base_dir: string;
  readonly started_at: string;
  readonly pid: number;
  readonly hostname: string;
  readonly boot_id: string;
  readonly start_ticks: number | null;
  /** What is known of the sessions before. */
  readonly earlier_sessions: readonly SessionFile[];
  readonly n_concurrent_trials: number;
  readonly metrics: readonly Metric[];
  readonly has_verifier: boolean;
  readonly agents: readonly string[];
  readonly tasks: readonly { readonly dataset: string; readonly task: string }[];
  readonly n_attempts: number;
  /** What was asked for on the command line; null when every task runs. */
  readonly selection: Readonly<Record<string, unknown>> | null;
  /** What differs from the sessions before and was accepted; empty for most. */
  readonly accepted_changes: readonly string[];
  readonly warnings: readonly string[];
  readonly datasets: readonly { readonly name: string; readonly version: string | null }[];
  readonly description: string | null;
  readonly tags: Readonly<Record<string, string>>;
  readonly git: { readonly revision: string; readonly is_dirty: boolean } | null;
  readonly rollout_version: string;
}

/** A task's content, when it was read for the first time or has another one than before. */
export interface TaskReadLine extends TaskDigest {
  readonly type: "task_read";
  readonly dataset: string;
  readonly task: string;
}

/** A trial that had a result begins again; until its next one it has none. */
export interface TrialReopenedLine {
  readonly type: "trial_reopened";
  readonly index: number;
}

export interface TrialFinishedLine {
  readonly type: "trial_finished";
  /** Its place in the plan; a later line for the same place wins. */
  readonly index: number;
  readonly result: TrialResultFile;
}

/** What giving the environment back added to a result that was known before. */
export interface TrialTornDownLine extends Pick<TrialResultFile, "teardown" | "error" | "warnings"> {
  readonly type: "trial_torn_down";
  readonly index: number;
  /** Files in the trial directory. */
  readonly artifact_count: number;
}

export interface JobEndedLine {
  readonly type: "job_ended";
  readonly ended_at: string;
  readonly duration_sec: number;
  readonly cancelled: boolean;
  readonly stopped_by_budget: boolean;
  readonly skipped: readonly number[];
  readonly warnings: readonly string[];
}

export type JournalLine =
  | JobStartedLine
  | TaskReadLine
  | TrialReopenedLine
  | TrialFinishedLine
  | TrialTornDownLine
  | JobEndedLine;

/** The journal of a job: everything its result is made of, in the order it became known. */
export interface JobJournal extends AsyncDisposable {
  append(line: JournalLine): Promise<void>;
}

/** Opens a job's journal for appending. */
export function openJobJournal(path: string, redactor: Redactor): Promise<JobJournal & Journal> {
  return openJournal(path, redactor);
}

/** Everything a journal says, at any instant of the job's life. */
export interface JournalRecord {
  /** The beginning of the latest session; null when the job never started. */
  readonly started: JobStartedLine | null;
  /** The end of the latest session. */
  readonly ended: JobEndedLine | null;
  readonly sessions: readonly SessionFile[];
  readonly runIds: readonly string[];
  /** By key; results of trials that the latest plan does not have are among them. */
  readonly finished: ReadonlyMap<string, TrialResultFile>;
  /** The latest content of each task, by `dataset/task`. */
  readonly tasks: ReadonlyMap<string, TaskReadLine>;
}

/** Reads a journal from its first line to its last whole one. */
export async function readJobJournal(path: string): Promise<JournalRecord> {
  const reading = new JournalReading();
  for (const value of await readJournal(path)) reading.take(value as JournalLine);
  return reading.record();
}

class JournalReading {
  #started: JobStartedLine | null = null;
  #ended: JobEndedLine | null = null;
  #keys: readonly string[] = [];
  #lastSign = 0;
  #sessions: readonly SessionFile[] = [];
  readonly #runIds: string[] = [];
  readonly #finished = new Map<string, TrialResultFile>();
  readonly #tasks = new Map<string, TaskReadLine>();

  take(line: JournalLine): void {
    if (line.type === "job_started") this.#begin(line);
    else if (line.type === "task_read") this.#tasks.set(`${line.dataset}/${line.task}`, line);
    else if (line.type === "trial_reopened") this.#finished.delete(this.#keys[line.index] ?? "");
    else if (line.type === "trial_finished") this.#finish(line.result);
    else if (line.type === "trial_torn_down") this.#amend(line);
    else if (line.type === "job_ended") this.#ended = line;
  }

  record(): JournalRecord {
    const sessions = [...this.#sessions, ...this.#currentSession()];
    const { started, ended } = { started: this.#started, ended: this.#ended };
    return { started, ended, sessions, runIds: this.#runIds, finished: this.#finished, tasks: this.#tasks };
  }

  #begin(line: JobStartedLine): void {
    this.#sessions = line.earlier_sessions;
    this.#started = line;
    this.#ended = null;
    this.#keys = planOfJournal(line).map(keyOf);
    this.#lastSign = Date.parse(line.started_at);
    this.#runIds.push(line.run_id);
  }

  #finish(result: TrialResultFile): void {
    const { agent_name: agent, dataset_name: dataset, task_name: task, attempt, timestamps } = result;
    this.#finished.set(trialKey(agent, dataset, task, attempt), result);
    this.#lastSign = Math.max(this.#lastSign, Date.parse(timestamps.ended_at));
  }

  #amend({ index, teardown, error, warnings }: TrialTornDownLine): void {
    const key = this.#keys[index] ?? "";
    const known = this.#finished.get(key);
    if (known) this.#finished.set(key, { ...known, error, warnings, teardown });
  }

  // Of a session whose process died only the last sign is known.
  #currentSession(): SessionFile[] {
    const { started_at } = this.#started ?? {};
    if (started_at === undefined) return [];
    const ended = this.#ended;
    const lived = Math.round(this.#lastSign - Date.parse(started_at)) / 1000;
    return [{ started_at, ended_at: ended?.ended_at ?? null, duration_sec: ended?.duration_sec ?? lived }];
  }
}

/** The plan that a journal's first line stands for, in plan order. */
export function planOfJournal(line: JobStartedLine): PlannedTrial[] {
  return line.agents.flatMap((agentName) =>
    line.tasks.flatMap(({ dataset, task }) =>
      Array.from({ length: line.n_attempts }, (_, n) => ({
        agentName,
        datasetName: dataset,
        taskName: task,
        attempt: n + 1,
      })),
    ),
  );
}
