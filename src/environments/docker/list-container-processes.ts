import type { ProcessInfo } from "../environment.ts";
import { hasStatus } from "./connection/engine-error.ts";
import type { Engine } from "./connection/open-engine.ts";
import { isKeeper } from "../guest/keeper.ts";

interface TopAnswer {
  readonly Titles: readonly string[];
  readonly Processes: readonly (readonly string[])[] | null;
}

/** Everything that runs in a container beside its main process, as the engine sees it from outside. */
export async function listContainerProcesses(engine: Engine, id: string, signal: AbortSignal): Promise<ProcessInfo[]> {
  const columns = engine.product === "podman" ? "pid,ppid,args" : "-o pid,ppid,args";
  let answer: TopAnswer | null;
  try {
    answer = await engine.client.json<TopAnswer | null>({
      method: "GET",
      path: `/containers/${id}/top`,
      query: { ps_args: columns },
      signal,
    });
  } catch (error) {
    // It does not run any more.
    if (hasStatus(error, 409)) return [];
    throw error;
  }
  const rows = (answer?.Processes ?? []).map(([pid = "", parent = "", ...words]) => ({
    pid: Number(pid),
    parent: Number(parent),
    command: words.join(" "),
  }));
  const pids = new Set(rows.map(({ pid }) => pid));
  // The main process is the one whose parent is not of the container; what keeps it alive is its first sleeper.
  const main = rows.find(({ parent }) => !pids.has(parent));
  const keeper = rows.find(({ parent, command }) => parent === main?.pid && isKeeper(command));
  return rows
    .filter((row) => row !== main && row !== keeper && !row.command.endsWith("<defunct>"))
    .map(({ pid, command }) => ({ pid, command }));
}
