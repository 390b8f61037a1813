import { join } from "node:path";
import { RolloutError } from "../../base/rollout-error.ts";
import type { EnterRequest, Entrance } from "../environment.ts";
import { planCommand } from "./command-words.ts";
import { isAlive, markProcess, readRecord, writeRecord } from "./environment-records.ts";
import type { LocalGround } from "./local-ground.ts";
import { planMounts } from "./plan-mounts.ts";
import { startSandbox } from "./sandbox.ts";

// A terminal of the host cannot be the controlling one inside; `script` makes one that can, where the base has it.
const shellOnTerminal = `if command -v script > /dev/null; then exec script -qec "exec bash" /dev/null; fi; exec bash`;

/** Mounts a kept environment again and says how a shell in it is started. */
export async function enterLocalEnvironment(ground: LocalGround, request: EnterRequest): Promise<Entrance> {
  const { id, isTerminal, signal } = request;
  const { host, idMap } = ground;
  const directory = join(ground.layout.environments, id);
  const record = /^[\w.-]+$/.test(id) ? readRecord(directory) : null;
  if (record === null) throw new RolloutError("not_found", `there is no environment ${id} on this machine`);
  if (record.state === "running" && isAlive(record.owner, host)) {
    throw new RolloutError("already_exists", `${id} is still in use by process ${record.owner.pid}`);
  }
  if (record.first !== null && isAlive(record.first, host)) {
    throw new RolloutError("already_exists", `somebody is in ${id} already`);
  }
  const { base, layers, toolbox } = record;
  const plan = planMounts({ base, layers, toolbox, isBuild: false });
  const sandbox = await startSandbox({ ...ground, directory, plan, memoryDiskBytes: null, isRestart: true, signal });
  writeRecord(directory, { ...record, state: "kept", first: markProcess(sandbox.pid, host) });
  const terminal = isTerminal ? { TERM: host.env["TERM"] ?? "xterm" } : {};
  const { args, env } = planCommand({
    sandboxPid: sandbox.pid,
    idMap,
    networkPid: null,
    prelude: "",
    nsenter: ground.nsenter,
    command: isTerminal ? ["bash", "-c", shellOnTerminal] : ["bash"],
    env: { HOME: "/root", ...record.env, ...terminal },
    cwd: record.workdir,
    user: null,
  });
  return {
    command: [ground.bash, ...args],
    env,
    async [Symbol.asyncDispose]() {
      await sandbox.kill();
      writeRecord(directory, { ...record, state: "kept", first: null });
    },
  };
}
