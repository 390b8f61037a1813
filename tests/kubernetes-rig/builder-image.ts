import { spawnSync } from "node:child_process";
import {
  copyFileSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { basename, join } from "node:path";
import { readTree } from "../../src/environments/archive/read-tree.ts";
import type { TreeEntry } from "../../src/environments/archive/tree-entry.ts";
import { systemEntries } from "../engines/base-image.ts";
import { readHostSystem } from "../engines/host-packages.ts";
import { go } from "./build-binary.ts";
import { cacheDir } from "./cluster-places.ts";
import { fetchPackages } from "./fetch-packages.ts";
import { writeImageArchive } from "./image-archive.ts";

/** The image of a builder that Pods of the tests run. */
export const buildahImage = "rollout.test/buildah:1";

/** The image of the other one. */
export const buildkitImage = "rollout.test/buildkit:1";

const buildkit = join(cacheDir, "buildkit-v0.21.1");
const config = { Cmd: ["bash"], Env: ["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"] };
const never = new AbortController().signal;
const merged = ["bin", "sbin", "lib", "lib64"];

/** Makes an image with Buildah from Debian packages, once per user; where its archive lies. */
export async function makeBuildahImage(): Promise<string> {
  const target = join(cacheDir, "buildah.tar");
  if (!existsSync(target)) {
    await writeImageArchive({ ref: buildahImage, entries: allEntries(unpackBuildah()), config, target });
  }
  return target;
}

/** Builds BuildKit from the Go module that it publishes; takes minutes, once per user. */
export function buildBuildkit(say: (line: string) => void): void {
  if (existsSync(buildkit)) return;
  say("building BuildKit, once for this user; takes 2 to 15 minutes");
  mkdirSync(cacheDir, { recursive: true });
  const work = mkdtempSync(join(cacheDir, "buildkit-"));
  try {
    const version = basename(buildkit).replace("buildkit-", "");
    const { Dir } = JSON.parse(go(work, ["mod", "download", "-json", `github.com/moby/buildkit@${version}`])) as {
      Dir: string;
    };
    const flags = ["-trimpath", "-ldflags", "-s -w", "-o", `${work}/`];
    go(Dir, ["build", ...flags, "./cmd/buildkitd", "./cmd/buildctl"], "readonly");
    copyFileSync(
      join(Dir, "examples/buildctl-daemonless/buildctl-daemonless.sh"),
      join(work, "buildctl-daemonless.sh"),
    );
    renameSync(work, buildkit);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

/** Makes an image with BuildKit and the node's own runc; null when it was not built. */
export async function makeBuildkitImage(): Promise<string | null> {
  const target = join(buildkit, "image.tar");
  if (!existsSync(buildkit)) return null;
  const programs = ["buildkitd", "buildctl", "buildctl-daemonless.sh"].map((name) => join(buildkit, name));
  const entries = programEntries([...programs, join(fetchPackages(), "usr/sbin/runc")]);
  if (!existsSync(target)) await writeImageArchive({ ref: buildkitImage, entries, config, target });
  return target;
}

async function* programEntries(files: readonly string[]): AsyncGenerator<TreeEntry> {
  yield* systemEntries();
  for (const file of files) {
    const bytes = readFileSync(file);
    const head = { type: "file", path: `usr/bin/${basename(file)}`, mode: 0o755, uid: 0, gid: 0 } as const;
    yield { ...head, size: bytes.length, body: [bytes] };
  }
}

/** Where Buildah lies with all that a small system lacks for it, unpacked and not installed. */
export function unpackBuildah(): string {
  const target = join(cacheDir, "buildah");
  if (existsSync(target)) return target;
  const work = mkdtempSync(join(cacheDir, "buildah-"));
  try {
    const root = join(work, "root");
    unpack(work, root);
    renameSync(root, target);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
  return target;
}

function unpack(work: string, root: string): void {
  const status = join(work, "status");
  writeFileSync(status, readHostSystem().status);
  const options = ["-s", "-o", `Dir::State::status=${status}`, "--no-install-recommends"];
  const plan = run("apt-get", [...options, "install", "buildah"], work);
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
