import { RolloutError } from "../../../base/rollout-error.ts";
import { startDeadline } from "../../../engine/deadline.ts";
import type { KubernetesGround } from "../kubernetes-ground.ts";
import { conditionOf, mainState, type Pod } from "./pod.ts";
import { wasEndedInside } from "./was-ended-inside.ts";

const reasonLimitMs = 5000;
// It has lived for as long as its `activeDeadlineSeconds`.
const deadlineReason = "DeadlineExceeded";

/** How a Pod ended that was not asked to. */
export interface PodEnd {
  readonly words: string;
  /** The limit of its own that it has passed, so that all that ran in it was killed; null when there is none. */
  readonly overLimit: "memory" | "storage" | null;
  /** Whether another Pod may fare better. */
  readonly isPassing: boolean;
  /** Whether what ran in it ended it. */
  readonly isOwnDoing: boolean;
}

const ownDoing: PodEnd = { words: "was ended from inside", overLimit: null, isPassing: false, isOwnDoing: true };

// Of a Pod's own limit; a node in need says that it was low on something.
const overStorage = /storage.* exceeds .*limit|exceeded its .*storage limit|EmptyDir volume .* exceeds/;

/** How a Pod ended, as the cluster tells it; null while it runs. */
export function endOf(pod: Pod | null): PodEnd | null {
  const lost = { overLimit: null, isPassing: true, isOwnDoing: false } as const;
  if (pod === null) return { ...lost, words: "was deleted by someone else" };
  const { phase = "", reason = "", message = "" } = pod.status ?? {};
  const disruption = conditionOf(pod, "DisruptionTarget");
  const terminated = mainState(pod)?.terminated;
  if (terminated?.reason === "OOMKilled") {
    return { ...lost, words: "was killed by its memory limit (OOMKilled)", overLimit: "memory", isPassing: false };
  }
  if (reason === "Evicted" && overStorage.test(message)) {
    return { ...lost, words: `was evicted: ${message.trim()}`, overLimit: "storage", isPassing: false };
  }
  const cause = disruption?.status === "True" ? [disruption.reason, disruption.message] : [reason, message];
  const why = cause.filter((word) => word !== undefined && word !== "").join(": ");
  if (phase === "Failed" || phase === "Succeeded" || terminated !== undefined) {
    const own = terminated ? `its main process ended with ${terminated.exitCode ?? "an unknown code"}` : "";
    const words = `has ended: ${[why, own].filter((word) => word !== "").join("; ") || "no reason is given"}`;
    return { ...lost, words, isPassing: reason !== deadlineReason };
  }
  if (pod.metadata.deletionTimestamp !== undefined) {
    return { ...lost, words: `is being deleted${why === "" ? " by someone else" : `: ${why}`}` };
  }
  return null;
}

// A container that has ended is told of before the reason why its Pod did.
function isWholeStory(pod: Pod | null): boolean {
  if (pod === null || pod.metadata.deletionTimestamp !== undefined) return true;
  const { phase } = pod.status ?? {};
  return phase === "Failed" || phase === "Succeeded" || mainState(pod)?.terminated?.reason === "OOMKilled";
}

/** Knows whether a Pod still runs. */
export class PodLife {
  readonly name: string;
  readonly #ground: Pick<KubernetesGround, "client" | "clock" | "namespace" | "watch">;
  #hasServed = false;

  constructor(ground: Pick<KubernetesGround, "client" | "clock" | "namespace" | "watch">, name: string) {
    this.#ground = ground;
    this.name = name;
  }

  /** To be called before a command runs in it: what nothing ran in did not end itself. */
  noteService(): void {
    this.#hasServed = true;
  }

  /** True once it has ended, as far as the watch has told. */
  get isOver(): boolean {
    return endOf(this.#ground.watch.get(this.name)) !== null;
  }

  /** Resolves with its end, as soon as that is known with its reason; rejects with the signal's reason. */
  async whenEnded(signal: AbortSignal): Promise<PodEnd> {
    const { clock, watch } = this.#ground;
    const first = await watch.wait(this.name, (pod) => endOf(pod) ?? undefined, signal);
    using limit = startDeadline({ clock, limitMs: reasonLimitMs, parent: signal, what: "its reason" });
    try {
      const isTold = (pod: Pod | null): true | undefined => isWholeStory(pod) || undefined;
      await watch.wait(this.name, isTold, limit.signal);
    } catch {
      // Then there is none.
      signal.throwIfAborted();
    }
    const pod = watch.get(this.name);
    if (this.#hasServed && (await wasEndedInside(this.#ground, pod, signal))) return ownDoing;
    return endOf(pod) ?? first;
  }

  /** What to throw when it has ended. */
  lost({ words, isPassing, isOwnDoing, overLimit }: PodEnd): RolloutError {
    const hint = words.includes(deadlineReason) ? "let Pods live longer with provider_config.deadline_sec" : undefined;
    const isOwn = isOwnDoing || (this.#hasServed && overLimit !== null);
    const code = isOwn ? "environment_ended" : "environment_lost";
    return new RolloutError(code, `the Pod ${this.name} ${words}`, { transient: isPassing, hint });
  }
}
