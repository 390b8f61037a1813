import { existsSync, mkdirSync, mkdtempSync, rmSync, utimesSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { systemClock } from "../../base/clock.ts";
import { readHost } from "../../base/host.ts";
import { reapLeftovers } from "./leftovers.ts";
import { makeLayout } from "./local-layout.ts";
import { planGround } from "./local-provider.ts";
import { markUsed } from "./mark-used.ts";

test.runIf(process.platform === "linux")("a base that nobody asked for in weeks goes, the others stay", async () => {
  const cacheDir = mkdtempSync(join(tmpdir(), "rollout-bases-"));
  onTestFinished(() => rmSync(cacheDir, { recursive: true, force: true }));
  const host = { ...readHost(process), cacheDir };
  const ground = planGround({ config: {}, host, clock: systemClock, baseDir: cacheDir });
  makeLayout(ground.layout);
  const base = (name: string): string => join(ground.layout.bases, name);
  const monthAgo = new Date(Date.now() - 30 * 86_400_000);
  for (const name of ["host-new", "host-old", "host-again"]) mkdirSync(base(name));
  for (const name of ["host-old", "host-again"]) utimesSync(base(name), monthAgo, monthAgo);
  expect(markUsed(base("host-again"))).toBe(true);
  await reapLeftovers(ground);
  await ground.trash.empty();
  expect(["host-new", "host-old", "host-again"].filter((name) => existsSync(base(name)))).toEqual([
    "host-new",
    "host-again",
  ]);
  expect(markUsed(base("host-old"))).toBe(false);
});
