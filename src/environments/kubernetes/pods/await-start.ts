import { RolloutError } from "../../../base/rollout-error.ts";
import { isAbort } from "../../../engine/abort-reason.ts";
import { startDeadline } from "../../../engine/deadline.ts";
import type { KubernetesGround } from "../kubernetes-ground.ts";
import { hearComplaints, type HearComplaintsOptions } from "./hear-complaints.ts";
import { isRoomExpected } from "./is-room-expected.ts";
import type { Pod } from "./pod.ts";
import { startStep, type StartStep } from "./pod-start.ts";

const unseen = "waits for a node, and no scheduler has looked at it";

export interface AwaitStartOptions {
  /** The Pod's name. */
  readonly name: string;
  /** What people call it. */
  readonly label: string;
  /** Told what it waits for, as the log is. */
  readonly onWait?: ((words: string) => void) | undefined;
  readonly signal: AbortSignal;
}

/** Creates a Pod and waits until it runs; first for a node, then for its start, each with its own limit. */
export async function awaitStart(
  ground: KubernetesGround,
  options: AwaitStartOptions,
  create: (limit: AbortSignal, onWait: (words: string) => void) => Promise<Pod>,
): Promise<Pod> {
  const { config, watch, log, timeoutMultiplier } = ground;
  const { name, label, signal } = options;
  let told = "";
  const tell = (words: string): void => {
    if (words === "" || words === told) return;
    told = words;
    log.write("info", `${label} ${words}`);
    options.onWait?.(words);
  };
  const isRefusedAgain = refusalCounter();
  const look = (pod: Pod | null, isEnough: (step: StartStep) => boolean): StartStep | undefined => {
    const step = startStep(pod, label);
    if (step.kind === "failed") throw step.error;
    if (step.kind === "unscheduled") tell(step.words === "" ? "" : `waits for a node: ${step.words}`);
    if (step.kind === "starting" || step.kind === "refused") tell(step.words === "" ? "" : `starts: ${step.words}`);
    if (isRefusedAgain(step)) throw step.error;
    return isEnough(step) ? step : undefined;
  };
  const scheduling = { limitMs: config.schedule_limit_sec * timeoutMultiplier * 1000, what: "waiting for a node" };
  const made = await bounded(
    ground,
    scheduling,
    options,
    () => allocationFailure(label, told, isRoomExpected(watch, name, told)),
    async (limit) => {
      const pod = await create(limit, tell);
      await watch.wait(name, (seen) => look(seen, ({ kind }) => kind !== "unscheduled"), limit);
      return pod;
    },
  );
  const starting = { limitMs: config.start_limit_sec * timeoutMultiplier * 1000, what: "starting the Pod" };
  await bounded(
    ground,
    starting,
    { ...options, signal },
    () => slowStart(label, told),
    (limit) => {
      const running = watch.wait(name, (seen) => look(seen, ({ kind }) => kind === "running"), limit);
      return unlessHopeless(
        ground,
        { name, label, onComplaint: (words) => tell(`starts: ${words}`), signal: limit },
        running,
      );
    },
  );
  return watch.get(name) ?? made;
}

// One pull is told of several times; between two of them the kubelet waits.
function refusalCounter(): (step: StartStep) => step is Extract<StartStep, { kind: "refused" }> {
  let [pulls, isTold] = [0, false];
  return (step): step is Extract<StartStep, { kind: "refused" }> => {
    const isRefused = step.kind === "refused" && !step.isBackOff;
    if (isRefused && !isTold) pulls++;
    isTold = isRefused;
    return step.kind === "refused" && pulls > 1;
  };
}

async function unlessHopeless<T>(
  ground: KubernetesGround,
  options: HearComplaintsOptions,
  running: Promise<T>,
): Promise<T> {
  const leaving = new AbortController();
  const signal = AbortSignal.any([options.signal, leaving.signal]);
  try {
    return await Promise.race([running, hearComplaints(ground, { ...options, signal })]);
  } finally {
    leaving.abort();
  }
}

async function bounded<T>(
  { clock }: KubernetesGround,
  { limitMs, what }: { readonly limitMs: number; readonly what: string },
  { signal }: AwaitStartOptions,
  explain: () => RolloutError,
  work: (limit: AbortSignal) => Promise<T>,
): Promise<T> {
  using deadline = startDeadline({ clock, limitMs, parent: signal, what });
  try {
    return await work(deadline.signal);
  } catch (error) {
    signal.throwIfAborted();
    throw isAbort(error, "deadline") ? explain() : error;
  }
}

// Whoever has waited as long as it may does not wait as long again, unless for others of the same job.
function allocationFailure(label: string, words: string, transient: boolean): RolloutError {
  return new RolloutError("resource_allocation_failed", `${label} did not start: it ${words || unseen}`, {
    hint: "free or add nodes, ask for less, or wait longer with provider_config.schedule_limit_sec",
    transient,
  });
}

function slowStart(label: string, words: string): RolloutError {
  const isPull = /pull/i.test(words);
  return new RolloutError(
    isPull ? "image_pull_failed" : "environment_start_failed",
    `${label} did not start in time: it ${words || "has a node and does not run"}`,
    { hint: "wait longer with provider_config.start_limit_sec; `kubectl describe pod` tells more", transient: true },
  );
}
