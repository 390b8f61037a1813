import { readFileSync } from "node:fs";
import { availableParallelism, homedir, hostname, totalmem } from "node:os";

/** What we know about the machine and the process; built once at the outer door and handed down. */
export interface Host {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  readonly home: string;
  readonly cacheDir: string;
  readonly platform: NodeJS.Platform;
  readonly uid: number;
  readonly pid: number;
  /** The Node that runs us. */
  readonly execPath: string;
  /** Changes with every boot, so that a pid is never mistaken for one of an earlier life of the machine. */
  readonly bootId: string;
  readonly hostname: string;
  readonly cpus: number;
  readonly memoryBytes: number;
}

/** Reads the host facts of the given process. */
export function readHost(from: Pick<NodeJS.Process, "env" | "cwd" | "platform" | "getuid" | "pid" | "execPath">): Host {
  const home = from.env["HOME"] || homedir();
  return {
    env: { ...from.env },
    cwd: from.cwd(),
    home,
    cacheDir: `${from.env["XDG_CACHE_HOME"] || `${home}/.cache`}/rollout`,
    platform: from.platform,
    uid: from.getuid?.() ?? -1,
    pid: from.pid,
    execPath: from.execPath,
    bootId: readBootId(),
    hostname: hostname(),
    cpus: availableParallelism(),
    memoryBytes: totalmem(),
  };
}

function readBootId(): string {
  try {
    return readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
  } catch {
    // Not Linux: an id of this process is enough, because nothing of it outlives a reboot.
    return globalThis.crypto.randomUUID();
  }
}
