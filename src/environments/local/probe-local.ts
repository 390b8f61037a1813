import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { messageOf, RolloutError } from "../../base/rollout-error.ts";
import { setOwner } from "./copy-owned.ts";
import { findTool } from "../../base/find-tool.ts";
import type { LocalGround } from "./local-ground.ts";
import { startMapped } from "./mapped-process.ts";
import { planOwnFolder } from "./own-folders.ts";

const tools: Readonly<Record<string, string>> = {
  unshare: "util-linux",
  nsenter: "util-linux",
  setpriv: "util-linux",
  mount: "mount (util-linux)",
  umount: "mount (util-linux)",
  pivot_root: "util-linux",
  bash: "bash",
  tar: "tar",
  mkfifo: "coreutils",
  rm: "coreutils",
  ldd: "libc-bin",
};

// Says each step before it is tried, so that the last one said is the one that failed.
const trial = `set -eu
say() { echo "$1" >&3; }
say overlay
mount -c -t overlay -o volatile,userxattr,lowerdir=lower,upperdir=upper,workdir=work overlay ./root
touch root/file
say proc
mkdir root/proc
mount -c -t proc proc ./root/proc
say pivot
cd root; pivot_root . .
say done`;

const stepNames: Readonly<Record<string, string>> = {
  "": "a user namespace",
  namespaces: "mount and process namespaces",
  overlay: "an overlay file system in a user namespace",
  proc: "a fresh /proc",
  pivot: "another root directory",
};

/** What the machine says about itself where something does not work. */
export interface MachineFacts {
  readonly isContainer: boolean;
  readonly isRoot: boolean;
  readonly kernel: string;
  readonly appArmorRestricts: boolean;
  readonly mostUserNamespaces: number | null;
  readonly allowsUserNamespaces: boolean;
}

/** Rejects with `provider_unavailable`, the step that failed and its remedy when sandboxes cannot be made here. */
export async function probeLocal(ground: LocalGround, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  refuseOtherSystems(ground.host.platform);
  for (const [name, packageName] of Object.entries(tools)) {
    if (findTool(name, ground.path) !== null) continue;
    throw new RolloutError("provider_unavailable", `the local environment needs the tool ${name}`, {
      hint: `install the package ${packageName}`,
    });
  }
  const failure = await tryOut(ground, signal);
  if (failure === null) return;
  const what = stepNames[failure.step] ?? failure.step;
  throw new RolloutError(
    "provider_unavailable",
    `the local environment cannot make ${what} here: ${failure.complaint}`,
    {
      hint: findRemedy(failure.step, readMachineFacts(ground)),
    },
  );
}

/** Rejects on systems that have no namespaces. */
export function refuseOtherSystems(platform: NodeJS.Platform): void {
  if (platform === "linux") return;
  throw new RolloutError(
    "provider_unavailable",
    "the local environment needs Linux; use Docker Desktop, Colima, a Podman machine, WSL 2 or a cloud provider",
  );
}

async function tryOut(
  ground: LocalGround,
  signal: AbortSignal,
): Promise<{ readonly step: string; readonly complaint: string } | null> {
  const { layout, idMap, host } = ground;
  const directory = planOwnFolder(join(layout.environments, "probe"), host);
  for (const name of ["", "lower", "upper", "work", "root"]) {
    mkdirSync(join(directory, name));
    setOwner(join(directory, name), idMap);
  }
  try {
    const argv = [
      "bash",
      "-p",
      "-c",
      'echo namespaces >&3; exec unshare -m -p -f -i -u --kill-child=KILL -- bash --norc -p -c "$1"',
      "bash",
      trial,
    ];
    const probe = await startMapped(argv, { ...ground, cwd: directory, signal });
    await probe.over;
    const step = probe.said.trim().split("\n").at(-1) ?? "";
    return step === "done" ? null : { step, complaint: probe.complaint || "it is not permitted" };
  } catch (error) {
    signal.throwIfAborted();
    return { step: "", complaint: messageOf(error) };
  } finally {
    // The work directory of an overlay has no permissions at all.
    const never = new AbortController().signal;
    const removal = { ...ground, cwd: layout.environments, signal: never };
    const removed = await startMapped(["rm", "-rf", "--", directory], removal).catch(() => null);
    await removed?.program.ended;
    await rm(directory, { recursive: true, force: true }).catch(() => {});
  }
}

function readMachineFacts({ host }: LocalGround): MachineFacts {
  const read = (path: string): string | null => {
    try {
      return readFileSync(path, "utf8").trim();
    } catch {
      return null;
    }
  };
  const most = read("/proc/sys/user/max_user_namespaces");
  return {
    isContainer: existsSync("/.dockerenv") || existsSync("/run/.containerenv") || host.env["container"] !== undefined,
    isRoot: host.uid === 0,
    kernel: read("/proc/sys/kernel/osrelease") ?? "",
    appArmorRestricts: read("/proc/sys/kernel/apparmor_restrict_unprivileged_userns") === "1",
    mostUserNamespaces: most === null ? null : Number(most),
    allowsUserNamespaces: read("/proc/sys/kernel/unprivileged_userns_clone") !== "0",
  };
}

/** What a person can do about a step that failed, most likely cause first. */
export function findRemedy(step: string, facts: MachineFacts): string {
  const [major = 0, minor = 0] = facts.kernel.split(/[.-]/).map(Number);
  if (facts.mostUserNamespaces === 0) return "allow user namespaces: sysctl -w user.max_user_namespaces=15000";
  if (!facts.isRoot && !facts.allowsUserNamespaces) {
    return "run as root, or allow user namespaces: sysctl -w kernel.unprivileged_userns_clone=1";
  }
  if (!facts.isRoot && facts.appArmorRestricts) {
    return "AppArmor restricts user namespaces here: run as root, or sysctl -w kernel.apparmor_restrict_unprivileged_userns=0, or use environment.type: docker";
  }
  if (step === "overlay" && (major < 5 || (major === 5 && minor < 11))) {
    return `the kernel is ${facts.kernel} and has to be 5.11 or newer; use environment.type: docker`;
  }
  if (facts.isContainer) {
    return "inside a container namespaces are refused: run on the machine itself, or start the container with --privileged";
  }
  if (step === "proc") return "parts of /proc are covered by other mounts: run outside of any container";
  return "use environment.type: docker on this machine";
}
