import { RolloutError } from "../../../base/rollout-error.ts";
import { conditionOf, mainState, type Pod } from "./pod.ts";
import type { PodWatch } from "./pod-watch.ts";

/** How a Pod ended that was not asked to. */
export interface PodEnd {
  readonly words: string;
  /** The memory limit killed its main process, and with it all that ran. */
  readonly isOutOfMemory: boolean;
}

/** How a Pod ended, as the cluster tells it; null while it runs. */
export function endOf(pod: Pod | null): PodEnd | null {
  if (pod === null) return { words: "was deleted by someone else", isOutOfMemory: false };
  const { status } = pod;
  const disruption = conditionOf(pod, "DisruptionTarget");
  const terminated = mainState(pod)?.terminated;
  const isOutOfMemory = terminated?.reason === "OOMKilled";
  const cause =
    disruption?.status === "True" ? [disruption.reason, disruption.message] : [status?.reason, status?.message];
  const why = cause.filter((word) => word !== undefined && word !== "").join(": ");
  if (isOutOfMemory) return { words: "was killed by its memory limit (OOMKilled)", isOutOfMemory };
  if (status?.phase === "Failed" || status?.phase === "Succeeded" || terminated !== undefined) {
    const own = terminated ? `its main process ended with ${terminated.exitCode ?? "an unknown code"}` : "";
    return {
      words: `has ended: ${[why, own].filter((word) => word !== "").join("; ") || "no reason is given"}`,
      isOutOfMemory,
    };
  }
  if (pod.metadata.deletionTimestamp !== undefined) {
    return { words: `is being deleted${why === "" ? " by someone else" : `: ${why}`}`, isOutOfMemory };
  }
  return null;
}

/** Knows whether a Pod still runs. */
export class PodLife {
  readonly name: string;
  readonly #watch: PodWatch;

  constructor(watch: PodWatch, name: string) {
    this.#watch = watch;
    this.name = name;
  }

  /** How it ended; null while it runs, as far as the watch has told. */
  get end(): PodEnd | null {
    return endOf(this.#watch.get(this.name));
  }

  /** Resolves with its end; rejects with the signal's reason. */
  whenEnded(signal: AbortSignal): Promise<PodEnd> {
    return this.#watch.wait(this.name, (pod) => endOf(pod) ?? undefined, signal);
  }

  /** What to throw when it has ended. */
  lost({ words }: PodEnd): RolloutError {
    return new RolloutError("environment_lost", `the Pod ${this.name} ${words}`, { transient: true });
  }
}
