import {
  chmodSync,
  closeSync,
  constants,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statfsSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { RolloutError } from "../../base/rollout-error.ts";
import { setOwner } from "./copy-owned.ts";
import type { IdMap } from "./id-map.ts";
import { startMapped } from "./mapped-process.ts";
import { renderMountTable, type MountPlan } from "./plan-mounts.ts";
import type { TalkingProgram, TalkMeans } from "./talking-program.ts";
import { toolWords } from "./toolbox.ts";

// Runs as process 1 of the new namespaces, with the host's tools until the root has changed. Its id outside is read
// from the host's /proc, which is still there at that time. Its input is the lifeline: at its end process 1 ends,
// and with it everything in the namespace. It waits for no child, so that none stays a zombie.
const init = `set -eu
read -r pid _ </proc/self/stat
if [ -n "$1" ]; then mount -c -t tmpfs -o "size=$1,mode=0755" tmpfs ./disk; cp -a stage/. disk/; fi
hostname rollout 2>/dev/null || true
mount -c -a -T mounts
cd root; pivot_root . .; ${toolWords("umount").join(" ")} -l .; cd /
echo 0 >/proc/sys/user/max_user_namespaces
echo "$pid" >&3
shift
trap '' CHLD
exec -c "$@" 3>&- >/dev/null 2>&1`;

export interface SandboxOptions extends TalkMeans {
  /** The environment's folder. */
  readonly directory: string;
  readonly plan: MountPlan;
  readonly idMap: IdMap;
  /** Where tools of the host are looked for. */
  readonly path: string;
  /** Keeps the disk in memory, bounded by so many bytes. */
  readonly memoryDiskBytes: number | null;
  /** True when the disk holds what an earlier life of the environment left. */
  readonly isRestart: boolean;
  /** Shell text that runs before, still with the rights of the caller. */
  readonly prelude?: string | undefined;
  /** Makes what the sandbox needs to be there while its processes start. */
  readonly meanwhile?: (() => void) | undefined;
  readonly signal: AbortSignal;
}

/** The namespaces and the file system of an environment, alive as long as its first process. */
export interface Sandbox {
  /** The id of its first process, as the host counts. */
  readonly pid: number;
  /** Resolves when it is gone, whoever ended it. */
  readonly gone: Promise<void>;
  /** Whether its end has begun: its other processes are killed first, so that a command of it may be seen to end before. */
  isEnding(): boolean;
  /** Opens the root of its file system, for the caller to close; null when it is gone. */
  openRoot(): number | null;
  /** What can still be written at its root; null when it is gone or may not be looked at. */
  freeBytes(): number | null;
  /** Ends it and everything in it. */
  kill(): Promise<void>;
}

/** Makes the folder of a new environment, where others on this machine cannot look. */
export function makeFolder(directory: string, idMap: IdMap): void {
  mkdirSync(directory, { recursive: true });
  chmodSync(directory, 0o700);
  setOwner(directory, idMap);
}

type DiskOptions = Pick<SandboxOptions, "directory" | "plan" | "idMap" | "memoryDiskBytes">;

/** Makes the folders in it; whoever is root inside owns them. */
export function makeDisk({ directory, plan, idMap, memoryDiskBytes }: DiskOptions): void {
  const disk = join(directory, memoryDiskBytes === null ? "disk" : "stage");
  const make = (path: string, mode: number): void => {
    mkdirSync(path, { recursive: true });
    chmodSync(path, mode);
    setOwner(path, idMap);
  };
  for (const path of [join(directory, "root"), join(directory, "disk"), disk]) make(path, 0o755);
  for (const path of ["upper", "work", "volumes"]) make(join(disk, path), 0o755);
  for (const [path, mode] of Object.entries(plan.directories)) make(join(disk, path), mode);
}

/** Starts the sandbox of an environment whose folder is made. */
export async function startSandbox(options: SandboxOptions): Promise<Sandbox> {
  const { directory, plan, memoryDiskBytes, signal } = options;
  const size = memoryDiskBytes === null ? "" : String(memoryDiskBytes);
  const firstProcess = toolWords("cat");
  const namespaces = ["-m", "-p", "-f", "-i", "-u", "--kill-child=KILL"];
  const argv = ["unshare", ...namespaces, "--", "bash", "--norc", "-p", "-c", init, "bash", size, ...firstProcess];
  const first = await startMapped(argv, {
    ...options,
    cwd: directory,
    meanwhile() {
      options.meanwhile?.();
      writeFileSync(join(directory, "mounts"), renderMountTable(plan.mounts));
      chmodSync(join(directory, "mounts"), 0o644);
      if (options.isRestart) forgetVolatile(join(directory, "disk", "work"));
    },
  });
  try {
    const pid = Number(await first.nextLine(signal));
    if (!Number.isInteger(pid) || pid <= 1) throw new RolloutError("environment_start_failed", "it has no process");
    return holdSandbox(first, pid);
  } catch (error) {
    first.abandon();
    await first.program.ended;
    throw error;
  }
}

// The kernel refuses to mount again what was not unmounted in good order, and what we kill never is.
function forgetVolatile(work: string): void {
  for (const part of readdirSync(work)) {
    const path = join(work, part, "work");
    try {
      // Nobody but root may enter them as they are, and the caller is only root inside.
      for (const way of ["", "incompat", "incompat/volatile"]) chmodSync(join(path, way), 0o700);
      rmSync(join(path, "incompat"), { recursive: true });
    } catch {
      // It was unmounted in good order.
    }
  }
}

function holdSandbox({ program, input }: TalkingProgram, pid: number): Sandbox {
  const gone = program.ended.then(() => {});
  // Its id may be another process's once it is gone.
  const isThere = (): boolean => program.end === null && isChildOf(pid, program.pid);
  return {
    pid,
    gone,
    isEnding: () => program.end !== null || isExiting(pid),
    openRoot() {
      const descriptor = openDirectory(`/proc/${pid}/root`);
      if (descriptor === null || isThere()) return descriptor;
      closeSync(descriptor);
      return null;
    },
    freeBytes() {
      const descriptor = this.openRoot();
      if (descriptor === null) return null;
      try {
        const { bavail, bsize } = statfsSync(`/proc/self/fd/${descriptor}/.`);
        return bavail * bsize;
      } finally {
        closeSync(descriptor);
      }
    },
    async kill() {
      // The end of the lifeline would do, but only when the process gets to run; this one always works.
      if (isThere()) sendKill(pid);
      input.destroy();
      await gone;
    },
  };
}

function openDirectory(path: string): number | null {
  try {
    return openSync(path, constants.O_RDONLY | constants.O_DIRECTORY);
  } catch {
    return null;
  }
}

function isChildOf(pid: number, parent: number): boolean {
  try {
    return new RegExp(`^PPid:\\s+${parent}$`, "m").test(readFileSync(`/proc/${pid}/status`, "utf8"));
  } catch {
    return false;
  }
}

// The kernel's mark on a process that is being taken apart, whatever it waits for meanwhile.
const exitingFlag = 4;

function isExiting(pid: number): boolean {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return (Number(fields[6]) & exitingFlag) !== 0;
  } catch {
    return true;
  }
}

function sendKill(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It has just ended by itself.
  }
}
