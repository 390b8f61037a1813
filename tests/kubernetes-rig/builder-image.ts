import { spawnSync } from "node:child_process";
import { existsSync, globSync, mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { readTree } from "../../src/environments/archive/read-tree.ts";
import type { TreeEntry } from "../../src/environments/archive/tree-entry.ts";
import { systemEntries } from "../engines/base-image.ts";
import { readHostSystem } from "../engines/host-packages.ts";
import { cacheDir } from "./cluster-places.ts";
import { writeImageArchive } from "./image-archive.ts";

/** The image of a builder that Pods of the tests run. */
export const buildahImage = "rollout.test/buildah:1";

const config = { Cmd: ["bash"], Env: ["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"] };
const never = new AbortController().signal;
const merged = ["bin", "sbin", "lib", "lib64"];

/** Makes an image with Buildah from Debian packages, once per user; where its archive lies. */
export async function makeBuildahImage(): Promise<string> {
  const target = join(cacheDir, "buildah.tar");
  if (!existsSync(target)) {
    await writeImageArchive({ ref: buildahImage, entries: withSystem(unpackBuildah()), config, target });
  }
  return target;
}

/** Where Buildah lies with all that a small system lacks for it, unpacked and not installed. */
export function unpackBuildah(): string {
  return unpackPackage("buildah");
}

/** Where a Debian package lies with all that a small system lacks for it, unpacked and not installed. */
export function unpackPackage(name: string): string {
  const target = join(cacheDir, name);
  if (existsSync(target)) return target;
  const work = mkdtempSync(join(cacheDir, `${name}-`));
  try {
    const root = join(work, "root");
    unpack(name, work, root);
    renameSync(root, target);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
  return target;
}

function unpack(wanted: string, work: string, root: string): void {
  const status = join(work, "status");
  writeFileSync(status, readHostSystem().status);
  const options = ["-s", "-o", `Dir::State::status=${status}`, "--no-install-recommends"];
  const plan = run("apt-get", [...options, "install", wanted], work);
  const names = [...plan.matchAll(/^Inst (\S+) .*?\(([^\s)]+)/gm)].map(([, name, version]) => `${name}=${version}`);
  const debs = join(work, "debs");
  mkdirSync(debs);
  run("apt-get", ["-qq", "-o", "APT::Sandbox::User=root", "download", ...names], debs);
  for (const name of merged) {
    mkdirSync(join(root, "usr", name), { recursive: true });
    symlinkSync(`usr/${name}`, join(root, name));
  }
  for (const file of globSync("*.deb", { cwd: debs })) run("dpkg", ["-x", file, root], debs);
}

/** A small system with what was unpacked over it. */
export async function* withSystem(root: string): AsyncGenerator<TreeEntry> {
  yield* systemEntries();
  for await (const entry of readTree(root, never)) {
    const isDoc = /^usr\/share\/(doc|man|locale)\//.test(entry.path);
    if (entry.path !== "" && !merged.includes(entry.path) && !isDoc) yield entry;
  }
}

function run(program: string, args: readonly string[], cwd: string): string {
  const { status, stdout, stderr } = spawnSync(program, args, { cwd, encoding: "utf8", maxBuffer: 2 ** 26 });
  if (status !== 0) throw new Error(`${program} ${args[0]}: ${stderr.trim() || `exit code ${status}`}`);
  return stdout;
}
