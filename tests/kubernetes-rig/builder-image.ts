import { spawnSync } from "node:child_process";
import { existsSync, globSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { readTree } from "../../src/environments/archive/read-tree.ts";
import type { TreeEntry } from "../../src/environments/archive/tree-entry.ts";
import { systemEntries } from "../engines/base-image.ts";
import { readHostSystem } from "../engines/host-packages.ts";
import { cacheDir } from "./cluster-places.ts";
import { writeImageArchive } from "./image-archive.ts";

/** The image of a builder that Pods of the tests run. */
export const buildahImage = "rollout.test/buildah:1";

const never = new AbortController().signal;
const merged = ["bin", "sbin", "lib", "lib64"];

/** Makes an image with Buildah from Debian packages, once per user; where its archive lies. */
export async function makeBuildahImage(): Promise<string> {
  const target = join(cacheDir, "buildah.tar");
  if (existsSync(target)) return target;
  const work = mkdtempSync(join(cacheDir, "buildah-"));
  try {
    const root = join(work, "root");
    unpack(work, root);
    const config = { Cmd: ["bash"], Env: ["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"] };
    await writeImageArchive({ ref: buildahImage, entries: allEntries(root), config, target });
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
  return target;
}

// What a small system lacks of what Buildah needs, none of it installed here.
function unpack(work: string, root: string): void {
  const status = join(work, "status");
  writeFileSync(status, readHostSystem().status);
  const plan = run(
    "apt-get",
    ["-s", "-o", `Dir::State::status=${status}`, "--no-install-recommends", "install", "buildah"],
    work,
  );
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

async function* allEntries(root: string): AsyncGenerator<TreeEntry> {
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
