import { execFileSync } from "node:child_process";
import { mkdir, mkdtemp, readdir, rm, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { systemClock } from "./clock.ts";
import { readHost } from "./host.ts";
import { acquireProcessLock, tryProcessLock } from "./process-lock.ts";

const host = readHost(process);
const options = { host, clock: systemClock, signal: new AbortController().signal };
const deadPid = Number(execFileSync("sh", ["-c", "echo $$"], { encoding: "utf8" }));

async function makeTempDir(): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), "rollout-tasks-"));
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  return directory;
}

async function makeLockPath(owner?: object): Promise<string> {
  const path = join(await makeTempDir(), "x.lock");
  if (owner === undefined) return path;
  await mkdir(path);
  const whole = { pid: deadPid, bootId: host.bootId, hostname: host.hostname, token: "0badcafe", ...owner };
  await writeFile(join(path, "owner.json"), JSON.stringify(whole));
  return path;
}

async function contend(path: string): Promise<number> {
  let inside = 0;
  let most = 0;
  const work = async (): Promise<void> => {
    await using _lock = await acquireProcessLock(path, options);
    most = Math.max(most, ++inside);
    await new Promise((resolve) => setTimeout(resolve, 1));
    inside--;
  };
  await Promise.all(Array.from({ length: 12 }, work));
  return most;
}

test("only one holds a lock at a time and nothing is left behind", async () => {
  const path = await makeLockPath();
  expect(await contend(path)).toBe(1);
  expect(await readdir(join(path, ".."))).toEqual([]);
});

test("many who find a dead lock take it over one after the other", async () => {
  const path = await makeLockPath({});
  expect(await contend(path)).toBe(1);
});

test("a takeover that died half way is itself taken over", async () => {
  const path = await makeLockPath({});
  await mkdir(`${path}.0badcafe`);
  const taker = { pid: deadPid, bootId: host.bootId, hostname: host.hostname, token: "deadbeef" };
  await writeFile(`${path}.0badcafe/owner.json`, JSON.stringify(taker));
  expect(await contend(path)).toBe(1);
});

test("a lock of an earlier boot is dead even if its pid lives again", async () => {
  const path = await makeLockPath({ pid: host.pid, bootId: "earlier" });
  await using lock = await tryProcessLock(path, { ...options, host: { ...host, platform: "linux" } });
  expect(lock).not.toBeNull();
});

test("a lock of another machine is respected until it has been silent for long", async () => {
  const path = await makeLockPath({ hostname: "elsewhere" });
  expect(await tryProcessLock(path, options)).toBeNull();
  await utimes(join(path, "owner.json"), 1_000, 1_000);
  await using lock = await tryProcessLock(path, options);
  expect(lock).not.toBeNull();
});

test("a lock of another machine is respected for good where that is asked for", async () => {
  const path = await makeLockPath({ hostname: "elsewhere" });
  await utimes(join(path, "owner.json"), 1_000, 1_000);
  expect(await tryProcessLock(path, { ...options, trustsForeign: true })).toBeNull();
});

test("waiting names the holder once and ends with the signal", async () => {
  const path = await makeLockPath({ pid: host.pid });
  const controller = new AbortController();
  const waits: number[] = [];
  const waiting = acquireProcessLock(path, {
    ...options,
    signal: controller.signal,
    onWait: (owner) => {
      waits.push(owner.pid);
      setTimeout(() => controller.abort(new Error("enough")), 120);
    },
  });
  await expect(waiting).rejects.toThrow("enough");
  expect(waits).toEqual([host.pid]);
});
