import { RolloutError, type ErrorCode } from "../../base/rollout-error.ts";
import { EngineError, wrapEngineError } from "./connection/engine-error.ts";
import type { DockerConfig } from "./docker-config-schema.ts";

interface Refusal {
  /** What engines say about it; they have no other word for it, and call it trouble of their own. */
  readonly says: RegExp;
  /** The setting that asks for it; null when only the task can. */
  readonly key: keyof DockerConfig | null;
  readonly hint: string;
}

const refusals: readonly Refusal[] = [
  {
    says: /unable to find (user|group) /,
    key: "user",
    hint: "name a user of the image, or a number, in the Dockerfile's USER or in provider_config.user",
  },
  {
    says: /could not select device driver|nvidia-container-cli|unresolvable CDI devices/i,
    key: "gpus",
    hint: "install the driver and its container toolkit where the engine runs, or take gpus out of provider_config",
  },
  { says: /rlimit|ulimit/i, key: "ulimits", hint: "the engine may not raise a limit above its own" },
  { says: /invalid mount config|volume name|creating named volume|error mounting|statfs /i, key: "mounts", hint: "" },
  { says: /unknown runtime|unknown or invalid runtime/i, key: "runtime", hint: "" },
  { says: /network .*not found|unable to find network/i, key: "network", hint: "" },
  { says: /memory limit/i, key: null, hint: "ask for more memory in task.toml, or with environment.override_memory" },
  {
    says: /executable file not found/i,
    key: null,
    hint: "use an image that has `sleep`, which keeps a container alive, and `bash`, which runs the scripts",
  },
];

const ownCodes: readonly ErrorCode[] = [
  "environment_start_failed",
  "resource_allocation_failed",
  "task_unfit",
  "config_invalid",
];

/** What kept a container from starting: the engine, its settings or the task; only what is the engine's may pass. */
export function startFailure(error: unknown, name: string, config: DockerConfig): unknown {
  const what = `${name} did not start`;
  if (error instanceof EngineError) {
    return refusalOf(error, what, config) ?? wrapEngineError(error, "environment_start_failed", what);
  }
  if (!(error instanceof RolloutError) || ownCodes.includes(error.code)) return error;
  const { message, transient } = error;
  return new RolloutError("environment_start_failed", `${what}: ${message}`, { cause: error, transient });
}

function refusalOf(error: EngineError, what: string, config: DockerConfig): RolloutError | null {
  if (error.status === null) return null;
  const refusal = refusals.find(({ says }) => says.test(error.message));
  if (refusal === undefined) return null;
  const { key, hint } = refusal;
  const isAsked = key !== null && isSet(config[key]);
  // A user may also be the image's; all else that nobody asked for is the engine's own.
  if (!isAsked && key !== null && key !== "user") return null;
  const options = { cause: error, hint: hint === "" ? undefined : hint };
  if (isAsked) return new RolloutError("config_invalid", `${what}: provider_config.${key}: ${error.message}`, options);
  return new RolloutError("task_unfit", `${what}: ${error.message}`, options);
}

function isSet(value: unknown): boolean {
  return typeof value === "object" && value !== null ? Object.keys(value).length > 0 : value !== undefined;
}
