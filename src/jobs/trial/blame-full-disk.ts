import { formatBytes } from "../../base/quantity.ts";
import type { Failure } from "./failure.ts";
import type { TryState } from "./try-state.ts";

// Less than this is not enough for tests to write what they found.
const leastBytes = 1024 * 1024;

/** The same failure, unless the agent had filled the disk that the tests had to write to: then it answers for it. */
export function blameFullDisk(failure: Failure, { roomLeftBytes, resources, verifierEnvironment }: TryState): Failure {
  const isTheirs = failure.type.startsWith("verifier_") && failure.cause !== "configuration";
  if (!isTheirs || verifierEnvironment !== null || roomLeftBytes === null || roomLeftBytes >= leastBytes)
    return failure;
  const note = `the agent had left ${roomLeftBytes} bytes of its ${formatBytes(resources.storageBytes)} of storage to the tests`;
  return {
    ...failure,
    message: `${note}; ${failure.message}`,
    detail: `${note}\n${failure.detail}`,
    cause: "agent",
  };
}
