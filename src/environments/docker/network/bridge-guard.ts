import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { promisify } from "node:util";
import { messageOf, RolloutError } from "../../../base/rollout-error.ts";

const run = promisify(execFile);
const parents = ["INPUT", "FORWARD"];

/** A bridge of ours, and the one door on this machine that is open to what hangs on it. */
export interface GuardedBridge {
  /** Names the bridge and its rules: eight letters or digits. */
  readonly mark: string;
  readonly gateway: string;
  readonly port: number;
}

/** The device of a bridge, as long as a device's name may be. */
export function bridgeOf(mark: string): string {
  return `rollout${mark}`;
}

/** Lets what hangs on the bridge reach one port of its gateway and nothing else of this machine, nor through it; rules that stand are left alone. */
export async function guardBridge(tool: string, { mark, gateway, port }: GuardedBridge): Promise<void> {
  const chain = chainOf(mark);
  const rules = [
    ["-d", `${gateway}/32`, "-p", "tcp", "-m", "tcp", "--dport", String(port), "-j", "ACCEPT"],
    ["-j", "REJECT"],
  ];
  const isThere = (parent: string, rule: readonly string[]): Promise<boolean> => succeeds(tool, "-C", parent, ...rule);
  try {
    await closeVersionSix(mark);
    await succeeds(tool, "-N", chain);
    for (const rule of rules) if (!(await isThere(chain, rule))) await run(tool, ["-w", "30", "-A", chain, ...rule]);
    const jump = ["-i", bridgeOf(mark), "-j", chain];
    for (const parent of parents)
      if (!(await isThere(parent, jump))) await run(tool, ["-w", "30", "-I", parent, ...jump]);
  } catch (error) {
    throw new RolloutError("exec_failed", `the rules of the network cannot be set: ${messageOf(error)}`, {
      hint: "environment.network with allow needs iptables on this machine",
      cause: error,
    });
  }
}

/** Takes the rules of a bridge away; what is gone already is fine. */
export async function unguardBridge(tool: string, mark: string): Promise<void> {
  const chain = chainOf(mark);
  for (const parent of parents) while (await succeeds(tool, "-D", parent, "-i", bridgeOf(mark), "-j", chain));
  await succeeds(tool, "-F", chain);
  await succeeds(tool, "-X", chain);
}

/** The marks of rules whose bridge is gone: it is made before them, so that whoever set them has died. */
export async function findDeadGuards(tool: string): Promise<string[]> {
  const { stdout } = await run(tool, ["-w", "30", "-S"]);
  const marks = [...stdout.matchAll(/^-N ROLLOUT-([0-9a-z]{8})$/gm)].flatMap(([, mark]) => mark ?? []);
  return marks.filter((mark) => !existsSync(`/sys/class/net/${bridgeOf(mark)}`));
}

/** Why the rules of this machine cannot be changed; null when they can. */
export async function whyNoRules(tool: string): Promise<string | null> {
  try {
    await run(tool, ["-w", "30", "-S", "INPUT"]);
    return null;
  } catch (error) {
    return `iptables does not work on this machine: ${messageOf(error)}`;
  }
}

function chainOf(mark: string): string {
  return `ROLLOUT-${mark}`;
}

// The rules are about version 4; nothing of the other one passes a device that has none.
async function closeVersionSix(mark: string): Promise<void> {
  const setting = `/proc/sys/net/ipv6/conf/${bridgeOf(mark)}/disable_ipv6`;
  if (existsSync(setting)) await writeFile(setting, "1");
}

async function succeeds(tool: string, ...args: readonly string[]): Promise<boolean> {
  return run(tool, ["-w", "30", ...args]).then(
    () => true,
    () => false,
  );
}
