import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { readHost } from "../../base/host.ts";
import { findAbandonedFolders, planOwnFolder } from "./own-folders.ts";

test.runIf(process.platform === "linux")("what a dead process was making is found, and nothing else", () => {
  const directory = mkdtempSync(join(tmpdir(), "rollout-staging-"));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  const host = readHost(process);
  const finished = join(directory, "host-1a2b3c");
  const ours = planOwnFolder(finished, host);
  const { pid } = spawnSync("true");
  const left = planOwnFolder(join(directory, "rootfs-1a2b3c"), { ...host, pid });
  for (const path of [finished, ours, left]) mkdirSync(path);
  expect(findAbandonedFolders(directory, host)).toEqual([left]);
});
