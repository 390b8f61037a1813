import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { chmodSync, createReadStream, existsSync, mkdirSync, realpathSync, statSync } from "node:fs";
import { open, rm } from "node:fs/promises";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { createGunzip, createZstdDecompress } from "node:zlib";
import type { Host } from "../../base/host.ts";
import { RolloutError } from "../../base/rollout-error.ts";
import { readTree } from "../archive/read-tree.ts";
import { planSkeleton, type BaseSystem } from "./base-system.ts";
import { setOwner } from "./copy-owned.ts";
import type { IdMap } from "./id-map.ts";
import { makeSkeleton } from "./make-skeleton.ts";
import { startMapped } from "./mapped-process.ts";
import { markUsed } from "./mark-used.ts";
import { planOwnFolder } from "./own-folders.ts";
import type { TalkMeans } from "./talking-program.ts";
import { publish } from "./toolbox.ts";
import { writeHeld } from "./write-held.ts";

const format = 1;
// Mounted fresh in every environment, and nobody in a user namespace may make devices.
const excluded = ["dev", "proc", "sys"].flatMap((name) => [`--exclude=./${name}/*`, `--exclude=${name}/*`]);

export interface RootfsOptions extends TalkMeans {
  readonly basesDir: string;
  /** A directory or a tarball. */
  readonly source: string;
  readonly idMap: IdMap;
  readonly host: Host;
  readonly path: string;
  readonly signal: AbortSignal;
}

/** Prepares a root file system as a base: unpacked once for each state of it, with the ids of environments. */
export async function openRootfsBase(options: RootfsOptions): Promise<BaseSystem> {
  const { basesDir, idMap, signal } = options;
  const source = resolveSource(options.source);
  const key = `rootfs-${await hashSource(source, idMap, signal)}`;
  const base: BaseSystem = { kind: "rootfs", description: options.source, key, overlays: [] };
  const directory = join(basesDir, key);
  if (markUsed(directory)) return base;
  const staging = planOwnFolder(directory, options.host);
  const root = join(staging, "_");
  try {
    mkdirSync(root, { recursive: true });
    chmodSync(staging, 0o711);
    chmodSync(root, 0o755);
    setOwner(root, idMap);
    await unpack(source, root, options);
    makeSkeleton(root, planSkeleton("rootfs"), idMap);
    publish(staging, directory);
  } finally {
    await removeAsOwner(staging, options);
  }
  return base;
}

function resolveSource(source: string): string {
  if (existsSync(source)) return realpathSync(source);
  throw new RolloutError("config_invalid", `provider_config.base: there is nothing at ${source}`, {
    hint: "base is `host`, or a directory or tarball with a root file system",
  });
}

async function hashSource(source: string, idMap: IdMap, signal: AbortSignal): Promise<string> {
  const hash = createHash("sha256").update(JSON.stringify([format, idMap, source]));
  const stats = statSync(source);
  if (!stats.isDirectory()) hash.update(`${stats.size}\0${stats.mtimeMs}`);
  else {
    for await (const { path, type, mode, mtimeMs } of readTree(source, signal)) {
      hash.update(JSON.stringify([path, type, mode, type === "file" ? mtimeMs : 0]));
    }
  }
  return hash.digest("hex").slice(0, 16);
}

async function unpack(source: string, root: string, options: RootfsOptions): Promise<void> {
  const { idMap, path, signal } = options;
  const owners = idMap.kind === "single" ? ["--no-same-owner"] : ["--same-owner", "--numeric-owner"];
  const argv = ["tar", "-x", "-p", ...owners, "--warning=no-timestamp", ...excluded, "-f", "-"];
  const tar = await startMapped(argv, { ...options, cwd: root });
  try {
    const stream = statSync(source).isDirectory() ? packDirectory(source, path) : await openTarball(source);
    for await (const chunk of stream) {
      signal.throwIfAborted();
      await writeHeld(tar.input, chunk as Uint8Array);
    }
    tar.input.end();
  } catch (error) {
    tar.abandon();
    await tar.program.ended;
    throw error;
  }
  if ((await tar.over).exitCode !== 0) {
    throw new RolloutError("provider_unavailable", `the base ${source} cannot be unpacked: ${tar.complaint}`);
  }
}

function packDirectory(source: string, path: string): Readable {
  const args = ["-c", "--numeric-owner", "--one-file-system", "--ignore-failed-read", ...excluded, "-C", source, "."];
  return spawn("tar", args, { env: { PATH: path }, stdio: ["ignore", "pipe", "ignore"] }).stdout;
}

async function openTarball(source: string): Promise<Readable> {
  await using file = await open(source);
  const { buffer } = await file.read(Buffer.alloc(6), 0, 6, 0);
  const magic = buffer.toString("hex");
  const stream = createReadStream(source);
  if (magic.startsWith("1f8b")) return stream.pipe(createGunzip());
  if (magic.startsWith("28b52ffd")) return stream.pipe(createZstdDecompress());
  if (magic.startsWith("fd377a58") || magic.startsWith("425a68")) {
    throw new RolloutError("config_invalid", `the base ${source} is packed in a way that is not read here`, {
      hint: "unpack it, or pack it with gzip or zstd",
    });
  }
  return stream;
}

async function removeAsOwner(staging: string, options: RootfsOptions): Promise<void> {
  if (!existsSync(staging)) return;
  if (options.idMap.kind === "private") return rm(staging, { recursive: true, force: true });
  const { signal } = new AbortController();
  const cwd = options.basesDir;
  const { program } = await startMapped(["rm", "-rf", "--", staging], { ...options, cwd, signal });
  await program.ended;
}
