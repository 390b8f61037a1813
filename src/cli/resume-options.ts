import type { Command } from "commander";
import { RolloutError } from "../base/rollout-error.ts";
import { describeUnknown } from "../base/suggest.ts";
import type { SessionWishes } from "../jobs/resume/plan-session.ts";
import { failureTypes, type FailureType } from "../jobs/trial/failure.ts";

/** What a person may ask for when a job is taken up again. */
export interface ResumeOptions {
  /** True, or an empty text, for all. */
  readonly retryFailed?: string | true;
  readonly acceptChanges?: boolean;
}

/** Adds those options to a command. */
export function addResumeOptions(command: Command): Command {
  return command
    .option("--retry-failed [types]", "also repeat failed trials: all, or those with these error types, as in a,b")
    .option("--accept-changes", "run the rest although the job or its tasks have changed; the results say so");
}

/** What the options ask for; rejects an error type that there is none of. */
export function wishesOf({ retryFailed, acceptChanges }: ResumeOptions): Omit<SessionWishes, "signal"> {
  return { retryFailed: retryFailed === undefined ? [] : typesOf(retryFailed), acceptChanges: acceptChanges === true };
}

// The word after `--retry-failed` may be the job itself; it is a list only when it looks like one.
export function bindRetryTypes(words: readonly string[]): string[] {
  return words.flatMap((word, at) => {
    if (word !== "--retry-failed") return [word];
    const next = words[at + 1] ?? "";
    return /^[a-z]+(?:_[a-z]+)+(?:,[a-z_]+)*$/.test(next) ? [word] : ["--retry-failed="];
  });
}

function typesOf(text: string | true): "all" | FailureType[] {
  if (text === true || text.trim() === "") return "all";
  return text.split(",").map((word) => {
    const type = failureTypes.find((known) => known === word.trim());
    if (type) return type;
    throw new RolloutError(
      "usage_invalid",
      `--retry-failed ${word}: ${describeUnknown("error type", word, failureTypes)}`,
    );
  });
}
