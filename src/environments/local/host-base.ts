import { createHash } from "node:crypto";
import { chmodSync, existsSync, lstatSync, mkdirSync, readdirSync, readFileSync, readlinkSync } from "node:fs";
import type { Dirent } from "node:fs";
import { rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import type { Host } from "../../base/host.ts";
import type { TreeEntry } from "../archive/tree-entry.ts";
import { partName, planSkeleton, type BaseSystem } from "./base-system.ts";
import { copyOwned, setOwner } from "./copy-owned.ts";
import type { IdMap } from "./id-map.ts";
import { planHostDirectories, readMountPoints, type HostPlan, type HostView } from "./plan-host-directories.ts";
import { markUsed } from "./mark-used.ts";
import { planOwnFolder } from "./own-folders.ts";
import { publish } from "./toolbox.ts";
import { makeSkeleton } from "./make-skeleton.ts";

const format = 1;
// Never copied, although some of them may be readable for all.
const masked = /^(g?shadow-?|sudoers(\.d)?|ssh\/ssh_host_.*|ssl\/private|security\/opasswd|krb5\.keytab|docker)(\/|$)/;
const directoriesPerTurn = 200;

export interface HostBaseOptions {
  readonly basesDir: string;
  readonly idMap: IdMap;
  readonly host: Host;
  readonly signal: AbortSignal;
}

/** Prepares the host as a base; the first time for a state of the host takes seconds, later times milliseconds. */
export async function openHostBase({ basesDir, idMap, host, signal }: HostBaseOptions): Promise<BaseSystem> {
  const plan = planHostDirectories(readHostView());
  const key = `host-${await hashHost(plan, idMap, signal)}`;
  const base: BaseSystem = { kind: "host", description: readName(), key, overlays: plan.overlays };
  const directory = join(basesDir, key);
  if (markUsed(directory)) return base;
  const staging = planOwnFolder(directory, host);
  try {
    mkdirSync(staging);
    chmodSync(staging, 0o711);
    await fillRoot(join(staging, partName("")), plan, idMap);
    for (const { path, hostDirectory } of plan.overlays) {
      const part = join(staging, partName(path));
      if (hostDirectory === null) await copyReadable(path, part, idMap, signal);
      else await copyDirectories(hostDirectory, part, idMap, signal);
    }
    await completeEtc(join(staging, "etc"), idMap);
    publish(staging, directory);
  } finally {
    await rm(staging, { recursive: true, force: true });
  }
  return base;
}

function readHostView(): HostView {
  return {
    mountPoints: readMountPoints(readFileSync("/proc/self/mountinfo", "utf8")),
    kindOf(path) {
      const stats = lstatSync(path, { throwIfNoEntry: false });
      if (!stats) return "missing";
      return stats.isDirectory() ? "directory" : stats.isSymbolicLink() ? "link" : "other";
    },
    linkTarget: (path) => readlinkSync(path),
    list: (path) => readdirSync(path),
  };
}

function readName(): string {
  try {
    return /^PRETTY_NAME="?(.*?)"?$/m.exec(readFileSync("/etc/os-release", "utf8"))?.[1] ?? "Linux";
  } catch {
    return "Linux";
  }
}

async function hashHost(plan: HostPlan, idMap: IdMap, signal: AbortSignal): Promise<string> {
  const hash = createHash("sha256").update(JSON.stringify([format, idMap, plan]));
  const note = (path: string): void => {
    const stats = lstatSync(path, { throwIfNoEntry: false });
    if (stats) hash.update(`${path}\0${stats.mtimeMs}\0${stats.size}\0${stats.mode}\0`);
  };
  const pending = ["/etc"];
  for (let path = pending.pop(); path !== undefined; path = pending.pop()) {
    signal.throwIfAborted();
    for (const entry of listReadable(path)) {
      note(`${path}/${entry.name}`);
      if (entry.isDirectory()) pending.push(`${path}/${entry.name}`);
    }
  }
  for (const path of ["/var/lib/dpkg/status", "/var/lib/apt/extended_states", "/var/lib/rpm", "/usr", "/opt"])
    note(path);
  return hash.digest("hex").slice(0, 16);
}

function listReadable(path: string): Dirent[] {
  try {
    return readdirSync(path, { withFileTypes: true }).sort((one, other) => (one.name < other.name ? -1 : 1));
  } catch {
    // What the caller may not look into is no part of the base either.
    return [];
  }
}

async function fillRoot(root: string, plan: HostPlan, idMap: IdMap): Promise<void> {
  const skeleton = planSkeleton("host");
  const extra = [...plan.directories, ...plan.overlays.map(({ path }) => path)];
  const directories = { ...skeleton.directories, ...Object.fromEntries(extra.map((path) => [path, 0o755])) };
  makeSkeleton(root, { ...skeleton, directories, links: { ...skeleton.links, ...plan.links } }, idMap);
}

// Only what everybody may read: no secret of the host becomes part of a base by way of the caller's rights.
async function copyReadable(path: string, part: string, idMap: IdMap, signal: AbortSignal): Promise<void> {
  const hidden = new Set<string>();
  const keeps = (entry: TreeEntry): boolean => {
    const parent = entry.path.slice(0, Math.max(0, entry.path.lastIndexOf("/")));
    const isMasked =
      hidden.has(parent) || (path === "etc" && masked.test(entry.path)) || entry.path.startsWith("lists/partial");
    const needed = entry.type === "directory" ? 0o005 : 0o004;
    const isPublic = entry.type === "symlink" || (entry.mode & needed) === needed;
    if (!isMasked && isPublic && entry.type !== "other") return true;
    if (entry.type === "directory") hidden.add(entry.path);
    return false;
  };
  await copyOwned(`/${path}`, part, idMap, keeps, signal);
}

// A merged directory has the owner of its topmost layer: with an empty one above it, root of an environment may write to it.
async function copyDirectories(source: string, part: string, idMap: IdMap, signal: AbortSignal): Promise<void> {
  const pending = [""];
  let count = 0;
  for (let path = pending.pop(); path !== undefined; path = pending.pop()) {
    if (++count % directoriesPerTurn === 0) await setImmediate();
    signal.throwIfAborted();
    const hostPath = join(source, path);
    const stats = lstatSync(hostPath, { throwIfNoEntry: false });
    if (!stats?.isDirectory() || (stats.mode & 0o005) !== 0o005) continue;
    const target = join(part, path);
    mkdirSync(target);
    setOwner(target, idMap, stats.uid, stats.gid);
    chmodSync(target, (stats.mode & 0o7777) | 0o700);
    for (const entry of listReadable(hostPath)) {
      if (entry.isDirectory()) pending.push(join(path, entry.name));
    }
  }
}

async function completeEtc(etc: string, idMap: IdMap): Promise<void> {
  const write = async (name: string, text: string, mode: number): Promise<void> => {
    const path = join(etc, name);
    await rm(path, { force: true });
    await writeFile(path, text, { mode });
    setOwner(path, idMap);
  };
  await write("shadow", "root:*:19000:0:99999:7:::\n", 0o640);
  await write("hostname", "rollout\n", 0o644);
  await write("hosts", "127.0.0.1 localhost rollout\n::1 localhost ip6-localhost ip6-loopback\n", 0o644);
  await rm(join(etc, "mtab"), { force: true });
  await symlink("/proc/self/mounts", join(etc, "mtab"));
  // apt would give up its rights to a user that may not be there.
  if (existsSync(join(etc, "apt/apt.conf.d"))) {
    await write("apt/apt.conf.d/99rollout", 'APT::Sandbox::User "root";\n', 0o644);
  }
}
