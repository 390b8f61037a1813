import type { Job } from "../config/job.ts";
import type { TrialInputsFile } from "../output/trial-result-schema.ts";
import type { TaskEntry } from "../tasks/task.ts";
import { boundKeysOf, hashValue } from "./bound-keys.ts";
import { hashTask, type TaskDigest } from "./hash-task.ts";

/** Told of each task when it has been read. */
export type OnTaskRead = (task: TaskEntry, digest: TaskDigest) => void;

/** Hashes of what a job's trials are made of; each task is read once, however many trials it has. */
export class JobInputs {
  readonly #environment: string;
  readonly #settings: string;
  readonly #agents: ReadonlyMap<string, string>;
  readonly #tasks = new Map<TaskEntry, Promise<TaskDigest | null>>();

  constructor(job: Pick<Job, "document">) {
    const { environment, settings, agents } = boundKeysOf(job.document);
    this.#environment = hashValue(environment);
    this.#settings = hashValue(settings);
    this.#agents = new Map([...agents].map(([name, agent]) => [name, hashValue(agent)]));
  }

  /** What one trial depends on; what cannot be read is null. */
  async of(agentName: string, task: TaskEntry, signal: AbortSignal, onRead?: OnTaskRead): Promise<TrialInputsFile> {
    const digest = await this.digestOf(task, signal, onRead).catch(() => null);
    return {
      task: digest?.hash ?? null,
      agent: this.#agents.get(agentName) ?? null,
      environment: this.#environment,
      settings: this.#settings,
    };
  }

  /** A task's content; null when it is not on this machine. */
  digestOf(task: TaskEntry, signal: AbortSignal, onRead?: OnTaskRead): Promise<TaskDigest | null> {
    const known = this.#tasks.get(task);
    if (known) return known;
    const reading = task.directory === null ? Promise.resolve(null) : hashTask(task.directory, signal);
    this.#tasks.set(task, reading);
    if (onRead) void reading.then((digest) => digest && onRead(task, digest)).catch(() => {});
    return reading;
  }
}
