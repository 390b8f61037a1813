import { join } from "node:path";
import { toPathSegment } from "../../base/path-segment.ts";

/** Where everything of a job stands on disk. */
export interface JobPaths {
  readonly dir: string;
  readonly config: string;
  readonly result: string;
  /** What we add beside the documented tree. */
  readonly own: string;
  /** The job as a run without its trials; a list of jobs reads only this. */
  readonly run: string;
  readonly journal: string;
  readonly lock: string;
  /** There while a process works on the job, with its owner inside. */
  readonly claim: string;
  /** There while somebody wants the job to take no new trials. */
  readonly pause: string;
  readonly log: string;
  readonly images: string;
  /** What the tasks said when their first trial began. */
  readonly tasks: string;
}

/** The log of a session; each has its own. */
export function sessionLog({ own, log }: JobPaths, session: number): string {
  return session === 1 ? log : join(own, `log-${session}.jsonl`);
}

/** The places inside a job directory. */
export function jobPaths(dir: string): JobPaths {
  const own = join(dir, ".rollout");
  return {
    dir,
    config: join(dir, "config.json"),
    result: join(dir, "result.json"),
    own,
    run: join(own, "run.json"),
    journal: join(own, "journal.jsonl"),
    lock: join(own, "lock.json"),
    claim: join(own, "lock"),
    pause: join(own, "pause"),
    log: join(own, "log.jsonl"),
    images: join(own, "images"),
    tasks: join(own, "tasks"),
  };
}

export interface TrialPaths {
  readonly dir: string;
  readonly result: string;
  readonly error: string;
  /** What the agent changed in its working directory. */
  readonly changes: string;
  readonly setup: string;
  readonly command: string;
  readonly logs: string;
  readonly verifierLogs: string;
  readonly retries: string;
}

/** The places inside a trial's directory. */
export function trialPaths(jobDir: string, key: string): TrialPaths {
  const dir = join(jobDir, key);
  return {
    dir,
    result: join(dir, "result.json"),
    error: join(dir, "error.txt"),
    changes: join(dir, "changes.txt"),
    setup: join(dir, "setup"),
    command: join(dir, "command"),
    logs: join(dir, "logs"),
    verifierLogs: join(dir, "logs", "verifier"),
    retries: join(dir, "retries"),
  };
}

/** `agent/dataset/task__1`: a trial's place below its job directory, each name made one safe segment. */
export function trialKey(agent: string, dataset: string, task: string, attempt: number): string {
  return `${toPathSegment(agent)}/${toPathSegment(dataset)}/${toPathSegment(task)}__${attempt}`;
}
