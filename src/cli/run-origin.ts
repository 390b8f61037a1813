import type { Command } from "commander";
import { readGitState } from "../base/git-state.ts";
import { RolloutError } from "../base/rollout-error.ts";
import type { RunOrigin } from "../store/run.ts";
import type { CliContext } from "./cli-context.ts";
import { collect } from "./job-options.ts";

/** Options that describe a run. */
export interface OriginOptions {
  readonly tag?: readonly string[];
  readonly description?: string;
}

/** Adds those options to a command. */
export function addOriginOptions(command: Command): Command {
  return command
    .option("--tag <key=value>", "a tag of the run, for `rollout list --tag` (repeatable)", collect)
    .option("--description <text>", "a description of the run");
}

/** Reads the description, the tags and the git state of a run. Throws at once for a tag that is none. */
export function readOrigin(options: OriginOptions, { host, version }: CliContext): Promise<RunOrigin> {
  const description = options.description ?? null;
  // Not in the promise: callers do other things before they await it.
  const tags = parseTags(options.tag ?? []);
  return readGitState(host.cwd, host.env).then((git) => ({ description, tags, git, rolloutVersion: version }));
}

/** Parses `key=value` words. Throws for a word without a key or an equals sign. */
export function parseTags(words: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    words.map((word) => {
      const at = word.indexOf("=");
      if (at < 1)
        throw new RolloutError("usage_invalid", `--tag ${word}: expected key=value`, {
          hint: "as in --tag branch=main",
        });
      return [word.slice(0, at), word.slice(at + 1)];
    }),
  );
}
