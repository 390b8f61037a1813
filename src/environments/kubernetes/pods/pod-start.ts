import { RolloutError, type ErrorCode } from "../../../base/rollout-error.ts";
import { conditionOf, mainState, type Pod } from "./pod.ts";

const toolsHint = "use an image that has `sh`, `sleep` and `bash`, which runs the scripts";

// What registries say for good; all else may be the network's fault and is left to the kubelet to try again.
const definitePull =
  /not found|manifest unknown|unauthorized|denied|forbidden|invalid|no match for platform|unsupported/i;

// A runtime that is not there at the moment, in the kubelet's words; it is asked again until it is.
const runtimeAway = /rpc error: code = (Unavailable|Canceled|DeadlineExceeded)|\.sock: connect: |transport is closing/;

/** How far a Pod has come on its way to run. */
export type StartStep =
  | { readonly kind: "running" }
  /** It has no node yet; the words are the scheduler's. */
  | { readonly kind: "unscheduled"; readonly words: string }
  /** It has a node, where its image is pulled and its container made. */
  | { readonly kind: "starting"; readonly words: string }
  | { readonly kind: "failed"; readonly error: RolloutError };

/** Reads how far a Pod has come; what cannot become better is a failure. */
export function startStep(pod: Pod | null, name: string): StartStep {
  const fail = (code: ErrorCode, words: string, transient: boolean, hint?: string): StartStep => ({
    kind: "failed",
    error: new RolloutError(code, `${name} did not start: ${words}`, { transient, hint }),
  });
  if (pod === null) return fail("environment_start_failed", "its Pod was deleted by someone else", true);
  const { status } = pod;
  const words = [status?.reason, status?.message].filter((word) => word !== undefined && word !== "").join(": ");
  const state = mainState(pod);
  if (state?.terminated !== undefined) return judgeEnd(state.terminated, fail);
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
    return { kind: "unscheduled", words: scheduled?.message ?? "the scheduler has not looked at it" };
  }
  return judgeWaiting(state?.waiting ?? {}, fail);
}

type Fail = (code: ErrorCode, words: string, transient: boolean, hint?: string) => StartStep;

function judgeWaiting({ reason = "", message = "" }: { reason?: string; message?: string }, fail: Fail): StartStep {
  const words = [reason, message].filter((word) => word !== "").join(": ");
  if (runtimeAway.test(message)) return { kind: "starting", words };
  switch (reason) {
    case "InvalidImageName":
    case "ErrImageNeverPull":
    case "ImageInspectError":
      return fail("image_pull_failed", words, false);
    case "ErrImagePull":
      return definitePull.test(message) ? fail("image_pull_failed", words, false) : { kind: "starting", words };
    case "ImagePullBackOff":
    case "RegistryUnavailable":
      return fail("image_pull_failed", words, !definitePull.test(message.replace(/^Back-off/, "")));
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
  if (reason === "StartError" || reason === "ContainerCannotRun") {
    if (/memory/i.test(message) && /limit|cgroup|usage/i.test(message)) {
      return fail("task_unfit", words, false, "ask for more memory in task.toml");
    }
    return fail(isToolMissing(message) ? "task_unfit" : "environment_start_failed", words, false, toolsHint);
  }
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
