import { plainJson } from "../../base/plain-json.ts";
import { RolloutError } from "../../base/rollout-error.ts";
import { plainText } from "../../base/terminal-text.ts";
import { cleanGitCache, listGitCache } from "../../jobs/tasks/git/git-cache.ts";
import { showUrl } from "../../jobs/tasks/show-url.ts";
import type { CliContext } from "../cli-context.ts";
import { exitCodes } from "../exit-codes.ts";

const dayMs = 86_400_000;

/** `rollout cache list`: what was fetched from git. */
export async function listCacheCommand(
  options: { readonly json?: boolean },
  { host, clock, terminal }: CliContext,
): Promise<number> {
  const commits = await listGitCache(host.cacheDir);
  if (options.json) {
    const entries = commits.map(({ url, commit, paths, bytes, lastUsedMs }) => ({
      url: showUrl(url),
      commit,
      paths,
      bytes,
      last_used_at: lastUsedMs === null ? null : new Date(lastUsedMs).toISOString(),
    }));
    terminal.out(`${plainJson({ schema_version: 1, directory: `${host.cacheDir}/git`, commits: entries }, 2)}\n`);
    return exitCodes.done;
  }
  if (commits.length === 0) terminal.out(`nothing is cached in ${host.cacheDir}/git\n`);
  for (const { url, commit, paths, bytes, lastUsedMs } of commits) {
    const used = lastUsedMs === null ? "" : `, used ${Math.floor((clock.now() - lastUsedMs) / dayMs)} days ago`;
    terminal.out(
      `${plainText(showUrl(url))} ${commit.slice(0, 12)}: ${paths.length} ${paths.length === 1 ? "task" : "tasks"}, ${megabytes(bytes)}${used}\n`,
    );
  }
  return exitCodes.done;
}

/** `rollout cache clean`: removes what no living process uses. */
export async function cleanCacheCommand(
  options: { readonly olderThan?: number },
  { host, clock, terminal }: CliContext,
): Promise<number> {
  const days = options.olderThan;
  if (days !== undefined && !(days >= 0))
    throw new RolloutError("usage_invalid", "--older-than takes a number of days");
  const olderThanMs = days === undefined ? undefined : days * dayMs;
  const { bytesFreed, inUse } = await cleanGitCache(host.cacheDir, {
    host,
    clock,
    signal: new AbortController().signal,
    olderThanMs,
  });
  terminal.out(`freed ${megabytes(bytesFreed)}${inUse > 0 ? `; ${inUse} left alone because they are in use` : ""}\n`);
  return exitCodes.done;
}

function megabytes(bytes: number): string {
  return `${(bytes / 1e6).toFixed(1)} MB`;
}
