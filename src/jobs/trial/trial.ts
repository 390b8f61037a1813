import type { ImagePlan } from "../../environments/environment.ts";
import type { Agent } from "../config/job.ts";
import type { TaskEntry } from "../tasks/task.ts";

/** One (agent, task, attempt), planned and not yet run. */
export interface Trial {
  /** Its place in the plan, from 0. */
  readonly index: number;
  /** `agent/dataset/task__1`: unique in the job and the path of its folder. */
  readonly key: string;
  /** Unique for every trial of every job, and short enough for a container's name. */
  readonly id: string;
  readonly agent: Agent;
  readonly task: TaskEntry;
  readonly datasetName: string;
  readonly datasetVersion: string | null;
  readonly attempt: number;
  /** How its image comes to be; null when the trial cannot start. */
  readonly image: ImagePlan | null;
  /** Expanded variables for the verifier, the task's and the job's. */
  readonly verifierEnv: Readonly<Record<string, string>>;
  /** Why it cannot start, found before the job began. */
  readonly refusal: { readonly type: "task_invalid" | "task_not_found"; readonly message: string } | null;
}

/** The labels that a trial's unit and events carry. */
export function trialLabels(trial: Trial): Record<string, string> {
  return { agent: trial.agent.name, dataset: trial.datasetName, task: trial.task.name, attempt: String(trial.attempt) };
}
