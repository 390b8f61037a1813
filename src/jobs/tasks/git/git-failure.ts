import { hideCredentials } from "../show-url.ts";
import type { GitOutcome } from "./run-git.ts";

/** What the other side could not or would not do, in its own words. */
export interface GitFailure {
  readonly message: string;
  /** The network or the server, not the request, is to blame. */
  readonly isTransient: boolean;
  /** Asking in another way cannot help. */
  readonly isFinal: boolean;
  /** The server says that it does not have what was asked for. */
  readonly isUnknownObject: boolean;
}

// git has one exit code for every failure, so its words, fixed to English, are all there is to go by.
const transientPattern =
  /Could not resolve host|Failed to connect|Couldn't connect|Connection (?:refused|reset|timed out|closed)|timed out|Empty reply|early EOF|RPC failed|hung up unexpectedly|unable to look up|Network is unreachable|No route to host|requested URL returned error: (?:5\d\d|429|408)|Temporary failure/i;
const finalPattern =
  /terminal prompts disabled|could not read (?:Username|Password)|Authentication failed|Permission denied|Host key verification failed|requested URL returned error: 4\d\d|repository .* not found|does not appear to be a git repository|not our ref|transport '.*' not allowed|dubious ownership/i;

/** The last lines git wrote, without progress, credentials or more than a person wants to read. */
export function describeGitFailure(outcome: GitOutcome, stallMs: number): GitFailure {
  if (outcome.isStalled) {
    return {
      message: `nothing was heard for ${stallMs / 1000} s`,
      isTransient: true,
      isFinal: true,
      isUnknownObject: false,
    };
  }
  const lines = outcome.stderr
    .split(/[\r\n]+/)
    .map((line) => hideCredentials(line).trim())
    .filter((line) => line !== "" && !/^(?:remote: )?[A-Z][a-z ]+: +\d+% \(/.test(line) && !line.startsWith("hint:"));
  const message = lines.slice(-3).join("; ").slice(0, 500) || `git ended with code ${outcome.exitCode}`;
  // A refusal is often followed by the complaint that the connection was closed.
  const isTransient = transientPattern.test(outcome.stderr) && !finalPattern.test(outcome.stderr);
  const isFinal = isTransient || finalPattern.test(outcome.stderr);
  return { message, isTransient, isFinal, isUnknownObject: /not our ref/.test(outcome.stderr) };
}
