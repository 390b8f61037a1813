import { join } from "node:path";
import type { Clock } from "../../base/clock.ts";
import type { Host } from "../../base/host.ts";
import { RolloutError } from "../../base/rollout-error.ts";
import { planCommand } from "./command-words.ts";
import { isAlive, readRecord } from "./environment-records.ts";
import { planGround } from "./local-provider.ts";
import { planMounts } from "./plan-mounts.ts";
import { startSandbox } from "./sandbox.ts";

/** A way into a kept environment; disposing it ends what runs inside and leaves the files. */
export interface EnteredEnvironment extends AsyncDisposable {
  readonly id: string;
  /** The program to run with the terminal of the caller. */
  readonly file: string;
  readonly args: readonly string[];
  /** The whole environment of that program. */
  readonly env: Readonly<Record<string, string>>;
}

export interface EnterOptions {
  readonly id: string;
  readonly host: Host;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/** Mounts a kept environment again and says how a shell in it is started; rejects with `not_found` when there is none. */
export async function enterLocalEnvironment({ id, host, clock, signal }: EnterOptions): Promise<EnteredEnvironment> {
  const ground = planGround({ config: {}, host, clock, baseDir: host.cwd });
  const directory = join(ground.layout.environments, id);
  const record = /^[\w.-]+$/.test(id) ? readRecord(directory) : null;
  if (record === null) throw new RolloutError("not_found", `there is no kept environment ${id} on this machine`);
  if (record.state === "running" && isAlive(record.owner, host)) {
    throw new RolloutError("already_exists", `${id} is still in use by process ${record.owner.pid}`);
  }
  const { base, layers, toolbox } = record;
  const { idMap, path } = ground;
  const plan = planMounts({ base, layers, toolbox, isBuild: false });
  const sandbox = await startSandbox({ directory, plan, idMap, path, memoryDiskBytes: null, isRestart: true, signal });
  const terminal = host.env["TERM"];
  const { args, env } = planCommand({
    sandboxPid: sandbox.pid,
    idMap,
    networkPid: null,
    prelude: "",
    nsenter: ground.nsenter,
    command: ["bash"],
    env: { HOME: "/root", ...record.env, ...(terminal === undefined ? {} : { TERM: terminal }) },
    cwd: record.workdir,
    user: null,
  });
  return { id, file: ground.bash, args, env, [Symbol.asyncDispose]: () => sandbox.kill() };
}
