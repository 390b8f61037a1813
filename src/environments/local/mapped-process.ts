import { messageOf, RolloutError } from "../../base/rollout-error.ts";
import { writeIdMap, type IdMap } from "./id-map.ts";
import type { Pipe } from "./pipe-stock.ts";
import type { ProgramRequest } from "./program-starter.ts";
import { startTalking, takePipes, type TalkingProgram, type TalkMeans } from "./talking-program.ts";

// It waits until the ids are in place; without them it could become nobody.
const waitAndBecome = 'echo waiting >&3; read -r _; exec setpriv --pdeathsig KILL "$@"';

export interface MappedProcessOptions extends TalkMeans {
  readonly idMap: IdMap;
  readonly cwd: string;
  readonly path: string;
  /** Takes its standard output, which is thrown away when absent. */
  readonly output?: Pipe | undefined;
  /** Shell text that it runs first, still with the rights of the caller. */
  readonly prelude?: string | undefined;
  /** Done while it starts; the command does not begin before. */
  readonly meanwhile?: (() => void) | undefined;
  readonly signal: AbortSignal;
}

/** Starts a command that is root of a user namespace of its own and dies with us; rejects with `environment_start_failed`. */
export async function startMapped(argv: readonly string[], options: MappedProcessOptions): Promise<TalkingProgram> {
  const { idMap, signal } = options;
  signal.throwIfAborted();
  const pipes = await takePipes(options.pipes);
  const starting = startTalking(planUnshare(argv, options), pipes, options.starter, options.output);
  try {
    options.meanwhile?.();
    const started = await starting;
    await started.nextLine(signal);
    await writeIdMap(started.program.pid, idMap, signal);
    started.input.write("\n");
    return started;
  } catch (error) {
    await starting.then(
      (started) => started.abandon(),
      () => {},
    );
    if (signal.aborted) throw signal.reason;
    if (error instanceof RolloutError && error.code === "environment_start_failed") throw error;
    throw new RolloutError("environment_start_failed", `no ids for a user namespace: ${messageOf(error)}`, {
      cause: error,
    });
  }
}

function planUnshare(
  argv: readonly string[],
  { idMap, path, cwd, prelude = "" }: MappedProcessOptions,
): Omit<ProgramRequest, "descriptors"> {
  const become = idMap.kind === "single" ? [] : ["--reuid", "0", "--regid", "0", "--clear-groups"];
  const script = prelude + waitAndBecome;
  const args = ["-U", "--keep-caps", "--", "bash", "--norc", "-p", "-c", script, "bash", ...become, "--", ...argv];
  return { file: "unshare", args, env: { PATH: path }, cwd };
}
