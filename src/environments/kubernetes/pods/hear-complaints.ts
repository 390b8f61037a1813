import { RolloutError } from "../../../base/rollout-error.ts";
import type { KubernetesGround } from "../kubernetes-ground.ts";
import { listPodEvents, type PodEvent } from "./list-pod-events.ts";

const firstLookMs = 20_000;
// Of a runtime that cannot start the least of all processes.
const tooLittleMemory = /OOM-killed|memory limit too low/;

export interface HearComplaintsOptions {
  /** The Pod's name. */
  readonly name: string;
  /** What people call it. */
  readonly label: string;
  readonly onComplaint: (words: string) => void;
  readonly signal: AbortSignal;
}

/**
 * Tells what a node complains of while a Pod starts, which is in no status of the Pod, as far as this account may see
 * events; looks rarely, and ever more so. Rejects when it cannot become better or the signal is aborted.
 */
export async function hearComplaints(ground: KubernetesGround, options: HearComplaintsOptions): Promise<never> {
  const { label, onComplaint, signal } = options;
  for (let waitMs = firstLookMs; ; waitMs *= 2) {
    await ground.clock.sleep(waitMs, signal);
    const words = await lastComplaint(ground, options);
    if (words === null) continue;
    if (tooLittleMemory.test(words)) {
      throw new RolloutError("task_unfit", `${label} did not start: ${words}`, {
        hint: "ask for more memory in task.toml",
      });
    }
    onComplaint(words);
  }
}

async function lastComplaint(
  ground: KubernetesGround,
  { name, signal }: HearComplaintsOptions,
): Promise<string | null> {
  const events = await listPodEvents(ground, name, "type=Warning", signal);
  const failures = events.filter(({ reason = "" }) => reason.startsWith("Failed"));
  const [last] = failures.toSorted((one, other) => timeOf(other) - timeOf(one));
  return last === undefined ? null : `${last.reason}: ${last.message ?? ""}`;
}

function timeOf({ lastTimestamp }: PodEvent): number {
  return Date.parse(lastTimestamp ?? "") || 0;
}
