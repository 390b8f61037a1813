import { RolloutError, type ErrorCode } from "../../../base/rollout-error.ts";
import { conditionOf, mainState, type Pod } from "./pod.ts";
import { hasPullSecrets, pullAnswer } from "./pull-answer.ts";

const toolsHint = "use an image that has `sh`, `sleep` and `bash`, which runs the scripts";
const loginHint = "name a secret with a login of the registry in provider_config.image_pull_secrets";
const secretHint = "the registry does not take the login of the Pod's pull secrets, or no such secret is there";

// A runtime that is not there at the moment, in the kubelet's words; it is asked again until it is.
const runtimeAway =
  /rpc error: code = (Unavailable|Canceled|DeadlineExceeded)|\.sock: connect: |transport is closing|error reading from server/;
// What TERM and KILL leave; nobody knows who sent them.
const killedCodes: readonly (number | undefined)[] = [137, 143];

// What a kubelet says before why it waits; the why comes last, and is what would be cut off.
const backOff = /^ImagePullBackOff: Back-off pulling image "[^"]*": (?=\S)/;

/** How far a Pod has come on its way to run. */
export type StartStep =
  | { readonly kind: "running" }
  /** It has no node yet; the words are the scheduler's, once it has looked. */
  | { readonly kind: "unscheduled"; readonly words: string }
  /** It has a node, where its image is pulled and its container made. */
  | { readonly kind: "starting"; readonly words: string }
  /** The registry refused a node that may not have seen the pull secrets yet; in a back-off it waits to ask again. */
  | {
      readonly kind: "refused";
      readonly words: string;
      readonly isBackOff: boolean;
      /** What it is when the node is refused again. */
      readonly error: RolloutError;
    }
  | { readonly kind: "failed"; readonly error: RolloutError };

/** Reads how far a Pod has come; what cannot become better is a failure. */
export function startStep(pod: Pod | null, name: string): StartStep {
  const fail: Fail = (code, words, transient, hint) => ({
    kind: "failed",
    error: new RolloutError(code, `${name} did not start: ${words}`, { transient, hint }),
  });
  if (pod === null) return fail("environment_start_failed", "its Pod was deleted by someone else", true);
  const { status } = pod;
  const words = [status?.reason, status?.message].filter((word) => word !== undefined && word !== "").join(": ");
  const state = mainState(pod);
  // One that was ended by others says so elsewhere.
  const isOthersDoing = (status?.reason ?? "") !== "" || pod.metadata.deletionTimestamp !== undefined;
  if (state?.terminated !== undefined && !isOthersDoing) return judgeEnd(state.terminated, fail);
  if (status?.phase === "Failed") {
    const isFull = /^OutOf|^Evicted$|^Preempt/.test(status.reason ?? "");
    return fail(
      isFull ? "resource_allocation_failed" : "environment_start_failed",
      words || "its Pod has failed",
      true,
    );
  }
  if (pod.metadata.deletionTimestamp !== undefined) {
    const why = conditionOf(pod, "DisruptionTarget")?.message ?? "by someone else";
    return fail("environment_start_failed", `its Pod is being deleted: ${why}`, true);
  }
  if (state?.running !== undefined) return { kind: "running" };
  const scheduled = conditionOf(pod, "PodScheduled");
  if (scheduled?.status !== "True") {
    return { kind: "unscheduled", words: scheduled?.message ?? "" };
  }
  return judgeWaiting(state?.waiting ?? {}, hasPullSecrets(pod), fail);
}

type Failed = Extract<StartStep, { kind: "failed" }>;
type Fail = (code: ErrorCode, words: string, transient: boolean, hint?: string) => Failed;

function judgeWaiting(
  { reason = "", message = "" }: { reason?: string; message?: string },
  hasSecrets: boolean,
  fail: Fail,
): StartStep {
  const words = [reason, message].filter((word) => word !== "").join(": ");
  if (runtimeAway.test(message)) return { kind: "starting", words };
  switch (reason) {
    case "InvalidImageName":
    case "ErrImageNeverPull":
    case "ImageInspectError":
      return fail("image_pull_failed", words, false);
    case "ErrImagePull":
    case "ImagePullBackOff":
    case "RegistryUnavailable":
      return judgePull(reason, message, hasSecrets, fail);
    case "CreateContainerConfigError":
      return fail("config_invalid", words, false, "the settings of provider_config and the image do not fit together");
    case "CreateContainerError":
    case "RunContainerError":
    case "CrashLoopBackOff":
    case "PostStartHookError":
      return fail(isToolMissing(message) ? "task_unfit" : "environment_start_failed", words, false, toolsHint);
    default:
      return { kind: "starting", words };
  }
}

function judgePull(reason: string, message: string, hasSecrets: boolean, fail: Fail): StartStep {
  const words = message === "" ? reason : `${reason}: ${message}`;
  const why = words.replace(backOff, "");
  const answer = pullAnswer(message);
  if (answer === "refused") {
    const { error } = fail("image_pull_failed", why, false, hasSecrets ? secretHint : loginHint);
    const isBackOff = reason !== "ErrImagePull";
    // A kubelet that has not yet heard of a secret asks as nobody.
    return hasSecrets ? { kind: "refused", words, isBackOff, error } : { kind: "failed", error };
  }
  if (answer === "passing" && reason === "ErrImagePull") return { kind: "starting", words };
  return fail("image_pull_failed", why, answer === "passing");
}

function judgeEnd(
  { reason = "", message = "", exitCode }: { reason?: string; message?: string; exitCode?: number },
  fail: Fail,
): StartStep {
  const words = [reason, message.trim()].filter((word) => word !== "").join(": ");
  if (reason === "OOMKilled") {
    return fail(
      "task_unfit",
      "its memory limit killed the first process (OOMKilled)",
      false,
      "ask for more memory in task.toml",
    );
  }
  if (runtimeAway.test(message)) return fail("environment_start_failed", words, true);
  if (reason === "StartError" || reason === "ContainerCannotRun") {
    if (/memory/i.test(message) && /limit|cgroup|usage/i.test(message)) {
      return fail("task_unfit", words, false, "ask for more memory in task.toml");
    }
    return fail(isToolMissing(message) ? "task_unfit" : "environment_start_failed", words, false, toolsHint);
  }
  if (killedCodes.includes(exitCode))
    return fail("environment_start_failed", `its first process was killed: ${words}`, true);
  return fail(
    "task_unfit",
    `the first process, sleep, ended at once with exit code ${exitCode ?? "unknown"}: ${words}`,
    false,
    toolsHint,
  );
}

function isToolMissing(message: string): boolean {
  return /executable file not found|no such file or directory/i.test(message);
}
