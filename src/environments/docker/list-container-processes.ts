import type { ProcessInfo } from "../environment.ts";
import { EngineError } from "./connection/engine-error.ts";
import type { Engine } from "./connection/open-engine.ts";
import { isKeeper } from "../guest/keeper.ts";

const notRunning = 409;

interface TopAnswer {
  readonly Titles: readonly string[];
  readonly Processes: readonly (readonly string[])[] | null;
}

interface Row {
  readonly pid: number;
  readonly parent: number;
  readonly command: string;
}

/** Everything that runs in a container beside its main process, as the engine sees it from outside. Rejects with an `EngineError` when the container has ended. */
export async function listContainerProcesses(engine: Engine, id: string, signal: AbortSignal): Promise<ProcessInfo[]> {
  const rows = await readTop(engine, id, signal);
  if (rows.length === 0) throw new EngineError(notRunning, `the container ${id.slice(0, 12)} has no main process`);
  const pids = new Set(rows.map(({ pid }) => pid));
  // The main process is the one whose parent is not of the container; what keeps it alive is its first sleeper.
  const main = rows.find(({ parent }) => !pids.has(parent));
  const keeper = rows.find(({ parent, command }) => parent === main?.pid && isKeeper(command));
  return rows
    .filter((row) => row !== main && row !== keeper && !isDefunct(row))
    .map(({ pid, command }) => ({ pid, command }));
}

/** False when the main process of a container has ended, which the engine may not have noticed yet. */
export async function hasMainProcess(
  engine: Engine,
  id: string,
  mainPid: number,
  signal: AbortSignal,
): Promise<boolean> {
  // Podman counts as the container does.
  const pid = engine.product === "podman" ? 1 : mainPid;
  try {
    return (await readTop(engine, id, signal)).some((row) => row.pid === pid && !isDefunct(row));
  } catch (error) {
    if (error instanceof EngineError && error.status !== null) return false;
    throw error;
  }
}

async function readTop(engine: Engine, id: string, signal: AbortSignal): Promise<Row[]> {
  const columns = engine.product === "podman" ? "pid,ppid,args" : "-o pid,ppid,args";
  const request = { method: "GET", path: `/containers/${id}/top`, query: { ps_args: columns }, signal } as const;
  const answer = await engine.client.json<TopAnswer | null>(request);
  return (answer?.Processes ?? []).map(([pid = "", parent = "", ...words]) => ({
    pid: Number(pid),
    parent: Number(parent),
    command: words.join(" "),
  }));
}

function isDefunct({ command }: Row): boolean {
  return command.endsWith("<defunct>");
}
