import { spawn, type ChildProcess } from "node:child_process";
import type { LocalGround } from "../local-ground.ts";
import { startMapped, waitForExit } from "../mapped-process.ts";
import { RolloutError } from "../../../base/rollout-error.ts";

/** Starts a program of the host that may read and make whatever an environment's ids own, its output piped. */
export async function startAsOwner(
  { idMap, path }: Pick<LocalGround, "idMap" | "path">,
  argv: readonly string[],
  cwd: string,
  signal: AbortSignal,
): Promise<ChildProcess> {
  if (idMap.kind !== "private")
    return (await startMapped(argv, { idMap, cwd, path, stdin: "ignore", stdout: "pipe", signal })).child;
  const [program = "", ...rest] = argv;
  return spawn(program, rest, { cwd, env: { PATH: path }, stdio: ["ignore", "pipe", "pipe"], detached: true });
}

/** The same to its end; rejects with `copy_failed` and what it complained of. */
export async function runAsOwner(
  ground: Pick<LocalGround, "idMap" | "path">,
  argv: readonly string[],
  cwd: string,
  signal: AbortSignal,
): Promise<void> {
  const child = await startAsOwner(ground, argv, cwd, signal);
  let complaint = "";
  child.stdout?.resume();
  child.stderr?.on("data", (chunk: Buffer) => (complaint = (complaint + chunk.toString("utf8")).slice(-1000)));
  const onAbort = (): void => void child.kill("SIGKILL");
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    const code = await waitForExit(child);
    signal.throwIfAborted();
    if (code !== 0) throw new RolloutError("copy_failed", `${argv[0]} ended with ${code}: ${complaint.trim()}`);
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}
