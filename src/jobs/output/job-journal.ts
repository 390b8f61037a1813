import { openJournal, readJournal, type Journal } from "../../base/writers/journal.ts";
import type { Redactor } from "../../base/redactor.ts";
import type { Metric } from "../config/job.ts";
import type { PlannedTrial } from "./job-tally.ts";
import type { TrialResultFile } from "./trial-result-schema.ts";

/** The first line of a journal: enough to know the whole plan without any other file. */
export interface JobStartedLine {
  readonly type: "job_started";
  readonly schema_version: 1;
  readonly run_id: string;
  readonly job_name: string;
  /** The file the job was read from; null when it was given in code or on the command line. */
  readonly job_file: string | null;
  readonly started_at: string;
  readonly pid: number;
  readonly hostname: string;
  readonly boot_id: string;
  readonly n_concurrent_trials: number;
  readonly metrics: readonly Metric[];
  readonly has_verifier: boolean;
  readonly agents: readonly string[];
  readonly tasks: readonly { readonly dataset: string; readonly task: string }[];
  readonly n_attempts: number;
  /** What was asked for on the command line; null when every task runs. */
  readonly selection: Readonly<Record<string, unknown>> | null;
  readonly warnings: readonly string[];
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

export type JournalLine = JobStartedLine | TrialFinishedLine | TrialTornDownLine | JobEndedLine;

/** The journal of a job: everything its result is made of, in the order it became known. */
export interface JobJournal extends AsyncDisposable {
  append(line: JournalLine): Promise<void>;
}

/** Opens a job's journal for appending. */
export function openJobJournal(path: string, redactor: Redactor): Promise<JobJournal & Journal> {
  return openJournal(path, redactor);
}

/** Everything a journal says, at any instant of the job's life. */
export async function readJobJournal(
  path: string,
): Promise<{ started: JobStartedLine | null; finished: Map<number, TrialResultFile>; ended: JobEndedLine | null }> {
  let started: JobStartedLine | null = null;
  let ended: JobEndedLine | null = null;
  const finished = new Map<number, TrialResultFile>();
  for (const value of await readJournal(path)) {
    const line = value as JournalLine;
    if (line.type === "job_started") started = line;
    else if (line.type === "trial_finished") finished.set(line.index, line.result);
    else if (line.type === "trial_torn_down") amend(finished, line);
    else if (line.type === "job_ended") ended = line;
  }
  return { started, finished, ended };
}

function amend(finished: Map<number, TrialResultFile>, line: TrialTornDownLine): void {
  const { index, teardown, error, warnings } = line;
  const known = finished.get(index);
  if (known) finished.set(index, { ...known, error, warnings, teardown });
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
