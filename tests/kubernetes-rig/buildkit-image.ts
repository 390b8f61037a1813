import { spawnSync } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from "node:fs";
import { basename, join } from "node:path";
import type { TreeEntry, TreeFile } from "../../src/environments/archive/tree-entry.ts";
import { systemEntries } from "../engines/base-image.ts";
import { go } from "./build-binary.ts";
import { unpackPackage, withSystem } from "./builder-image.ts";
import { cacheDir } from "./cluster-places.ts";
import { fetchPackages } from "./fetch-packages.ts";
import { withCapability } from "./file-capability.ts";
import { writeImageArchive } from "./image-archive.ts";

const buildkitVersion = "v0.33.1";
// The one that this version of BuildKit publishes its image with.
const rootlesskitVersion = "v3.0.1";
const programs = join(cacheDir, `buildkit-${buildkitVersion}-rootlesskit-${rootlesskitVersion}`);

/** Images with BuildKit, laid out as those that it publishes: one for root, one for a user without rights. */
export const buildkitImages = {
  root: `rollout.test/buildkit:${buildkitVersion}`,
  rootless: `rollout.test/buildkit:${buildkitVersion}-rootless`,
} as const;
type Kind = keyof typeof buildkitImages;

const path = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
const home = "/home/user";
const runtime = "/run/user/1000";
// The programs that map the ids of others for a user.
const mappers = [
  { path: "usr/bin/newuidmap", capability: 7 },
  { path: "usr/bin/newgidmap", capability: 6 },
] as const;
const configs: Readonly<Record<Kind, Readonly<Record<string, unknown>>>> = {
  root: { Env: [path], Volumes: { "/var/lib/buildkit": {} } },
  rootless: {
    User: "1000:1000",
    Env: [
      path,
      `HOME=${home}`,
      "USER=user",
      `XDG_RUNTIME_DIR=${runtime}`,
      `TMPDIR=${home}/.local/tmp`,
      `BUILDKIT_HOST=unix://${runtime}/buildkit/buildkitd.sock`,
    ],
    Volumes: { [`${home}/.local/share/buildkit`]: {} },
  },
};

/** Builds BuildKit from the Go modules that are published; takes minutes, once per user. */
export function buildBuildkit(say: (line: string) => void): void {
  if (existsSync(programs)) return;
  say(`building BuildKit ${buildkitVersion}, once for this user; takes 2 to 15 minutes`);
  mkdirSync(cacheDir, { recursive: true });
  const work = mkdtempSync(join(cacheDir, "buildkit-"));
  try {
    const source = buildModule(work, `github.com/moby/buildkit@${buildkitVersion}`, ["buildkitd", "buildctl"]);
    const script = "buildctl-daemonless.sh";
    copyFileSync(join(source, "examples/buildctl-daemonless", script), join(work, script));
    buildModule(work, `github.com/rootless-containers/rootlesskit/v3@${rootlesskitVersion}`, ["rootlesskit"]);
    renameSync(work, programs);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

/** Why the tests cannot run one of the images here; null when they can. */
export function whyNoBuildkit(kind: Kind): string | null {
  if (!existsSync(programs)) return "BuildKit was not built: npm run test:kubernetes does";
  const asUser = ["--reuid=1000", "--regid=1000", "--clear-groups", "unshare", "--user", "true"];
  if (kind === "root" || spawnSync("setpriv", asUser, { stdio: "ignore" }).status === 0) return null;
  return "a BuildKit without rights takes a kernel that gives users namespaces of their own";
}

/** Makes an image with BuildKit, once it was built, and the node's own runc; where its archive lies. */
export async function makeBuildkitImage(kind: Kind): Promise<string> {
  const target = join(programs, `${kind}.tar`);
  if (!existsSync(target)) {
    const entries = kind === "root" ? rootEntries() : rootlessEntries();
    const before = kind === "root" ? [] : await Promise.all(mappers.map(mapperFile));
    await writeImageArchive({ ref: buildkitImages[kind], entries, before, config: configs[kind], target });
  }
  return target;
}

// As Debian has them they run as root, and the kernel hears root only if it has rights over the namespaces of others,
// which it has not in a Pod; with this capability they run as the user, whose namespace it is.
function mapperFile({ path, capability }: (typeof mappers)[number]): Promise<Buffer> {
  return withCapability(programFile(path, join(unpackPackage("uidmap"), path)), capability);
}

// Where its source lies.
function buildModule(work: string, module: string, commands: readonly string[]): string {
  const { Dir } = JSON.parse(go(work, ["mod", "download", "-json", module])) as { Dir: string };
  const flags = ["-trimpath", "-ldflags", "-s -w", "-o", `${work}/`];
  go(Dir, ["build", ...flags, ...commands.map((name) => `./cmd/${name}`)], "readonly");
  return Dir;
}

async function* rootEntries(): AsyncGenerator<TreeEntry> {
  yield* systemEntries();
  yield* programEntries(["buildkitd", "buildctl", "buildctl-daemonless.sh"]);
}

async function* rootlessEntries(): AsyncGenerator<TreeEntry> {
  for await (const entry of withSystem(unpackPackage("uidmap")))
    if (!mappers.some(({ path }) => path === entry.path)) yield entry;
  yield* programEntries(["buildkitd", "buildctl", "buildctl-daemonless.sh", "rootlesskit"]);
  yield textFile("etc/passwd", `root:x:0:0:root:/root:/bin/sh\nuser:x:1000:1000::${home}:/bin/sh\n`);
  for (const file of ["etc/subuid", "etc/subgid"]) yield textFile(file, "user:100000:65536\n");
  for (const place of [
    runtime,
    home,
    ...["", "/tmp", "/share", "/share/buildkit"].map((end) => `${home}/.local${end}`),
  ])
    yield { type: "directory", path: place.slice(1), mode: 0o755, uid: 1000, gid: 1000 };
}

function* programEntries(names: readonly string[]): Generator<TreeEntry> {
  for (const file of [...names.map((name) => join(programs, name)), join(fetchPackages(), "usr/sbin/runc")])
    yield programFile(`usr/bin/${basename(file)}`, file);
}

function programFile(path: string, source: string): TreeFile {
  return { ...textFile(path, readFileSync(source)), mode: 0o755 };
}

function textFile(path: string, content: string | Buffer): TreeFile {
  const bytes = Buffer.from(content);
  return { type: "file", path, mode: 0o644, uid: 0, gid: 0, size: bytes.length, body: [bytes] };
}
