import { RolloutError } from "../../../base/rollout-error.ts";
import { describeGitFailure } from "./git-failure.ts";
import type { GitUrl } from "./git-url.ts";
import { runGit, type GitContext } from "./run-git.ts";

/** Variables that give a git call its remote; a call without them cannot reach the network. */
export type RemoteEnv = Readonly<Record<string, string>>;

/** The variables for a repository. They keep credentials off the command line, where anybody could read them. */
export async function readRemoteEnv(url: GitUrl, context: GitContext): Promise<RemoteEnv> {
  const env = { GIT_CONFIG_COUNT: "1", GIT_CONFIG_KEY_0: "remote.origin.url", GIT_CONFIG_VALUE_0: url.raw };
  if (!url.isSsh || context.host.env["GIT_SSH"]) return env;
  const configured = context.host.env["GIT_SSH_COMMAND"] || (await readSshCommand(context)) || "ssh";
  return { ...env, GIT_SSH_COMMAND: `${configured} -o BatchMode=yes -o ConnectTimeout=30` };
}

async function readSshCommand(context: GitContext): Promise<string> {
  return (await runGit({ args: ["config", "--get", "core.sshCommand"] }, context)).stdout.trim();
}

/** The commit that HEAD of a repository stands for now; rejects with `git_failed`. */
export async function readHeadCommit(url: GitUrl, context: GitContext): Promise<string> {
  const env = await readRemoteEnv(url, context);
  const outcome = await runGit({ args: ["ls-remote", "origin", "HEAD"], env }, context);
  const commit = /^([0-9a-f]{40,64})\tHEAD$/m.exec(outcome.stdout)?.[1];
  if (outcome.exitCode === 0 && commit !== undefined) return commit;
  const failure = describeGitFailure(outcome, context.stallMs);
  const reason = outcome.exitCode === 0 ? "it has no commits" : failure.message;
  throw new RolloutError("git_failed", `the newest commit of ${url.shown} could not be asked for: ${reason}`, {
    hint: "pin the task with git_commit_id to run it from the cache without a network",
    transient: outcome.exitCode !== 0 && failure.isTransient,
  });
}

/** Rejects with `git_failed` unless there is a git that is new enough for us. */
export async function checkGitVersion(context: GitContext): Promise<void> {
  const { stdout } = await runGit({ args: ["--version"] }, context);
  const [, major = "0", minor = "0"] = /(\d+)\.(\d+)/.exec(stdout) ?? [];
  if (Number(major) > 2 || (Number(major) === 2 && Number(minor) >= 31)) return;
  const hint = "install git 2.31 or newer and make sure that it is the first in PATH";
  throw new RolloutError("git_failed", `this git is too old: ${stdout.trim()}`, { hint });
}
