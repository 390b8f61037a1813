import type { IdMap } from "./id-map.ts";
import { toolWords } from "./toolbox.ts";

// What Docker leaves to root of a container.
const keptCapabilities =
  "-all,+chown,+dac_override,+fowner,+fsetid,+kill,+setgid,+setuid,+setpcap,+net_bind_service,+net_raw,+sys_chroot,+mknod,+audit_write,+setfcap";

// They would change the tools that lead into the environment; a command gets them all the same.
const steersTools = /^(LD_|GLIBC_TUNABLES$|LOCPATH$|BASH|SHELLOPTS$|ENV$|POSIXLY_CORRECT$|PS4$|_$|SHLVL$|PWD$|OLDPWD$)/;

/** The arguments of `nsenter` for some namespaces of a sandbox. */
export function namespaceWords(sandboxPid: number, idMap: IdMap, namespaces: readonly string[]): string[] {
  // With one id nobody can drop groups, and the caller is root inside already.
  const credentials = idMap.kind === "single" ? ["--preserve-credentials"] : [];
  return ["-t", String(sandboxPid), ...namespaces, ...credentials, "--"];
}

/** Who a command runs as inside. */
export interface CommandUser {
  readonly uid: number;
  readonly gid: number;
  readonly groups: readonly number[];
}

export interface CommandRequest {
  readonly sandboxPid: number;
  readonly idMap: IdMap;
  /** A process that holds another network namespace; null for the host's network. */
  readonly networkPid: number | null;
  /** Shell text that runs on the host before, such as joining control groups. */
  readonly prelude: string;
  readonly nsenter: string;
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  /** Null for root. */
  readonly user: CommandUser | null;
}

/** The process of the host that runs a command inside, for `spawn`. */
export interface CommandWords {
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

/** Plans the arguments of `bash` and the variables that run a command in a sandbox. */
export function planCommand(request: CommandRequest): CommandWords {
  const { user, networkPid } = request;
  const network = networkPid === null ? [] : [`--net=/proc/${networkPid}/ns/net`];
  const enter = namespaceWords(request.sandboxPid, request.idMap, ["-U", "-m", "-p", "-i", "-u", ...network]);
  const identity =
    user === null
      ? []
      : [
          "--reuid",
          String(user.uid),
          "--regid",
          String(user.gid),
          ...(user.groups.length === 0 ? ["--clear-groups"] : ["--groups", user.groups.join(",")]),
        ];
  const confine = ["--no-new-privs", "--inh-caps", "-all", "--bounding-set", keptCapabilities, ...identity, "--"];
  const held = Object.entries(request.env).filter(([name]) => steersTools.test(name));
  const settle = ["-u", "_", "-u", "SHLVL", "-u", "PWD", "-u", "OLDPWD", "-C", request.cwd, "--"];
  const confined = [...toolWords("setpriv"), ...confine];
  const settled = [...toolWords("env"), ...settle, ...held.map(([name, value]) => `${name}=${value}`)];
  const words = [request.nsenter, ...enter, ...confined, ...settled, ...request.command];
  return {
    // Bash reads a start-up file when its input is a socket, whatever else it was told.
    args: ["--norc", "-p", "-c", `${request.prelude}exec "$@"`, "bash", ...words],
    env: Object.fromEntries(Object.entries(request.env).filter(([name]) => !steersTools.test(name))),
  };
}
