import { formatBytes } from "../../base/quantity.ts";
import type { ResourceLimits } from "../../environments/environment.ts";
import type { Failure, FailureType } from "./failure.ts";
import type { CapturedEnd } from "./run-captured.ts";

/** Null when a command ended well; else the failure, told by exit code, signal or limit and its last words. */
export function failureOfEnd(
  end: CapturedEnd,
  what: string,
  type: FailureType,
  limits: ResourceLimits,
): Failure | null {
  const { exitCode, signal, outOfMemory, outOfStorage = false, outOfPids = false } = end.result;
  if (exitCode === 0) return null;
  const how = outOfMemory
    ? `was killed by the memory limit of ${formatBytes(limits.memoryBytes)}`
    : outOfStorage
      ? `was ended by the storage limit of ${formatBytes(limits.storageBytes)}`
      : outOfPids
        ? `was ended: it had more processes than the limit of ${limits.pids}`
        : exitCode === null
          ? `was ended by ${signal ?? "a signal"}`
          : `exited with code ${exitCode}${exitMeaning(exitCode)}`;
  const words = end.lastLines.length > 0 ? `; it last printed:\n${end.lastLines.join("\n")}` : "; it printed nothing";
  const message = `${what} ${how}${words}`;
  return { type, message, cause: null, detail: message };
}

/** What should be known of a command that ended well although something of it did not; null when there is nothing. */
export function warningOfEnd({ result }: CapturedEnd, what: string, limits: ResourceLimits): string | null {
  if (result.exitCode !== 0 || !result.outOfMemory) return null;
  return `the memory limit of ${formatBytes(limits.memoryBytes)} killed something that ${what} had started`;
}

function exitMeaning(code: number): string {
  if (code === 126) return " (found but not executable)";
  if (code === 127) return " (command not found)";
  if (code === 137) return " (killed)";
  return "";
}
