import { RolloutError } from "../../base/rollout-error.ts";
import { namespaceWords } from "./command-words.ts";
import type { IdMap } from "./id-map.ts";
import { startTalking, takePipes, type TalkMeans } from "./talking-program.ts";

// The loopback device of a new network is down, and no tool that every machine has can bring it up.
const holder = `{ ip link set lo up || ifconfig lo up ||
  perl -e 'socket(my $s,2,2,0) or die; ioctl($s,0x8914,pack("a16 s x22","lo",0x49)) or die' ||
  python3 -c 'import fcntl,socket,struct; fcntl.ioctl(socket.socket(socket.AF_INET,socket.SOCK_DGRAM),0x8914,struct.pack("16sh22x",b"lo",0x49))'; } 2>/dev/null || exit 3
echo ready >&3
exec cat >/dev/null`;

/** A network namespace with a loopback device and nothing else. */
export interface IsolatedNetwork {
  /** A process that is in it. */
  readonly pid: number;
  close(): Promise<void>;
}

export interface NetworkOptions extends TalkMeans {
  readonly sandboxPid: number;
  readonly idMap: IdMap;
  /** Where tools of the host are looked for. */
  readonly path: string;
  readonly signal: AbortSignal;
}

/** Makes a network that belongs to a sandbox; it ends with this process. */
export async function openIsolatedNetwork(options: NetworkOptions): Promise<IsolatedNetwork> {
  const { sandboxPid, idMap, path, signal } = options;
  const enter = namespaceWords(sandboxPid, idMap, ["-U"]);
  const args = [...enter, "unshare", "-n", "--", "bash", "--norc", "-p", "-c", holder];
  const request = { file: "nsenter", args, cwd: "/", env: { PATH: path } };
  const talk = await startTalking(request, await takePipes(options.pipes), options.starter);
  const close = async (): Promise<void> => {
    talk.abandon();
    await talk.program.ended;
  };
  try {
    await talk.nextLine(signal);
    return { pid: talk.program.pid, close };
  } catch (error) {
    await close();
    signal.throwIfAborted();
    throw new RolloutError("unsupported", "an environment without network cannot be made on this machine", {
      hint: "install iproute2",
      cause: error,
    });
  }
}
