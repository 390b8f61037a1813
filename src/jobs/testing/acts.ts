import type { Environment } from "../../environments/environment.ts";
import type { MemoryCall, MemoryExit, MemoryProcess } from "../../environments/memory/memory-handler.ts";

/** How a script ended. */
export type Ending = number | MemoryExit;

/** A command of a trial, with the names a test thinks in. */
export interface RigCall extends Omit<MemoryCall, "stdout" | "stderr" | "spawn"> {
  // As properties, so that a script may take them apart.
  readonly stdout: (chunk: string | Uint8Array) => Promise<void>;
  readonly stderr: (chunk: string | Uint8Array) => Promise<void>;
  readonly spawn: (command: string) => MemoryProcess;
  /** `agent/dataset/task__1` */
  readonly key: string;
  /** The trial's directory on the host. */
  readonly trialDir: string;
  readonly environment: Environment;
}

export type Act = (call: RigCall) => Ending | Promise<Ending>;

/** What each script of a trial does; one that is left out ends well, and `test` then gives the reward 1. */
export interface JobScript {
  readonly install?: Act;
  readonly execute?: Act;
  readonly solve?: Act;
  readonly test?: Act;
  /** The look for a shell, which follows a script that could not be run. */
  readonly shell?: Act;
}

/** The part of a script that answers a command. */
export function findAct(script: JobScript, file: string): Act {
  if (file.endsWith("/install.sh")) return script.install ?? (() => 0);
  if (file.endsWith("/execute.sh")) return script.execute ?? (() => 0);
  if (file === "/oracle/solve.sh") return script.solve ?? (() => 0);
  if (file === "/tests/test.sh") return script.test ?? giveReward("1\n");
  if (file === ":") return script.shell ?? (() => 0);
  throw new Error(`nobody expects the command ${file}`);
}

/** A test script that writes this as the reward. */
export function giveReward(text: string, exitCode = 0): Act {
  return ({ files }) => {
    files.write("/logs/verifier/reward.txt", text);
    return exitCode;
  };
}

/** A script that never ends by itself. */
export const hang: Act = () => new Promise<Ending>(() => {});
