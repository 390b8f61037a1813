import { spawn } from "node:child_process";
import { once } from "node:events";
import { RolloutError } from "../../base/rollout-error.ts";
import { namespaceWords } from "./command-words.ts";
import type { IdMap } from "./id-map.ts";
import { waitForExit } from "./mapped-process.ts";

// The loopback device of a new network is down, and no tool that every machine has can bring it up.
const holder = `{ ip link set lo up || ifconfig lo up ||
  perl -e 'socket(my $s,2,2,0) or die; ioctl($s,0x8914,pack("a16 s x22","lo",0x49)) or die' ||
  python3 -c 'import fcntl,socket,struct; fcntl.ioctl(socket.socket(socket.AF_INET,socket.SOCK_DGRAM),0x8914,struct.pack("16sh22x",b"lo",0x49))'; } 2>/dev/null || exit 3
echo ready
exec cat >/dev/null`;

/** A network namespace with a loopback device and nothing else. */
export interface IsolatedNetwork {
  /** A process that is in it. */
  readonly pid: number;
  close(): Promise<void>;
}

/** Makes a network that belongs to a sandbox; it ends with this process. */
export async function openIsolatedNetwork(
  sandboxPid: number,
  idMap: IdMap,
  path: string,
  signal: AbortSignal,
): Promise<IsolatedNetwork> {
  const words = [
    ...namespaceWords(sandboxPid, idMap, ["-U"]),
    "unshare",
    "-n",
    "--",
    "bash",
    "--norc",
    "-p",
    "-c",
    holder,
  ];
  const child = spawn("nsenter", words, {
    cwd: "/",
    env: { PATH: path },
    stdio: ["pipe", "pipe", "ignore"],
    detached: true,
  });
  const ended = waitForExit(child);
  const close = async (): Promise<void> => {
    child.kill("SIGKILL");
    await ended;
  };
  child.stdin.on("error", () => {});
  try {
    const said = await Promise.race([once(child.stdout, "data", { signal }), ended]);
    if (!Array.isArray(said)) {
      throw new RolloutError("unsupported", "an environment without network cannot be made on this machine", {
        hint: "install iproute2",
      });
    }
    return { pid: child.pid ?? 0, close };
  } catch (error) {
    await close();
    signal.throwIfAborted();
    throw error;
  }
}
