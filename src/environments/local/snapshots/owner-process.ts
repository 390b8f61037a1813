import { Socket } from "node:net";
import type { Readable } from "node:stream";
import { RolloutError } from "../../../base/rollout-error.ts";
import type { LocalGround } from "../local-ground.ts";
import { startMapped } from "../mapped-process.ts";
import { startTalking, takePipes, type TalkingProgram } from "../talking-program.ts";

export type OwnerGround = Pick<LocalGround, "idMap" | "path" | "starter" | "pipes">;

/** A program of the host that may read and make whatever an environment's ids own. */
export interface OwnerProgram {
  readonly talk: TalkingProgram;
  readonly output: Readable;
}

/** Starts such a program with its output piped. */
export async function startAsOwner(
  { idMap, path, starter, pipes }: OwnerGround,
  argv: readonly string[],
  cwd: string,
  signal: AbortSignal,
): Promise<OwnerProgram> {
  const pipe = await pipes.take();
  const output = new Socket({ fd: pipe.readDescriptor, readable: true, writable: false });
  output.on("error", () => {});
  try {
    const [file = "", ...args] = argv;
    const talk =
      idMap.kind === "private"
        ? await startTalking({ file, args, env: { PATH: path }, cwd }, await takePipes(pipes), starter, pipe)
        : await startMapped(argv, { idMap, cwd, path, starter, pipes, output: pipe, signal });
    return { talk, output };
  } catch (error) {
    output.destroy();
    throw error;
  }
}

/** The same to its end; rejects with `copy_failed` and what it complained of. */
export async function runAsOwner(
  ground: OwnerGround,
  argv: readonly string[],
  cwd: string,
  signal: AbortSignal,
): Promise<void> {
  const { talk, output } = await startAsOwner(ground, argv, cwd, signal);
  output.resume();
  const onAbort = (): void => talk.abandon();
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    const { exitCode } = await talk.over;
    signal.throwIfAborted();
    if (exitCode !== 0) throw new RolloutError("copy_failed", `${argv[0]} ended with ${exitCode}: ${talk.complaint}`);
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}
