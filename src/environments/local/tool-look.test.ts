import { mkdirSync, mkdtempSync, openSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeEach, expect, onTestFinished, test } from "vitest";
import type { BaseSystem } from "./base-system.ts";
import type { Sandbox } from "./sandbox.ts";
import { findChangedTools, FreshTools } from "./tool-look.ts";

const base: BaseSystem = {
  kind: "host",
  description: "this machine",
  key: "base",
  overlays: [
    { path: "usr", hostDirectory: "/usr" },
    { path: "etc", hostDirectory: null },
  ],
};
let directory = "";
let looks = 0;
const sandbox = {
  openRoot() {
    looks++;
    return openSync(join(directory, "root"), "r");
  },
} as unknown as Sandbox;
let nowMs = 0;
const clock = { monotonic: () => nowMs } as never;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "rollout-tool-look-"));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  for (const path of ["root/usr/bin", "root/etc", "disk/upper/_", "disk/upper/usr", "disk/upper/etc"])
    mkdirSync(join(directory, path), { recursive: true });
  writeFileSync(join(directory, "root/usr/bin/bash"), "bash");
  symlinkSync("usr/bin", join(directory, "root/bin"));
  looks = 0;
});

function look(disk: string | null = join(directory, "disk")): { changed: readonly string[]; looks: number } {
  const fresh = new FreshTools(clock).of(sandbox, base, []);
  if (fresh === null) throw new Error("there is a sandbox");
  looks = 0;
  writeFileSync(join(directory, "root/usr/bin/bash"), "another one");
  return { changed: findChangedTools({ sandbox, base, fresh, disk }), looks };
}

test("nothing is looked at inside while the layer on top has nothing of the tools", () => {
  writeFileSync(join(directory, "disk/upper/etc/resolv.conf"), "");
  mkdirSync(join(directory, "disk/upper/_/etc"));
  mkdirSync(join(directory, "disk/upper/usr/share"));
  expect(look()).toEqual({ changed: [], looks: 0 });
});

test.for(["usr/bin/python3", "usr/bin", "_/bin", "etc/ld.so.preload", "usr/local/sbin/bash"])(
  "%s in the layer on top makes it look",
  (path) => {
    mkdirSync(join(directory, "disk/upper", path), { recursive: true });
    expect(look()).toEqual({ changed: ["/usr/bin/bash"], looks: 1 });
  },
);

test("a disk that the host cannot see makes it look", () => {
  expect(look(null)).toEqual({ changed: ["/usr/bin/bash"], looks: 1 });
});

test("the same layers are read once in a minute", () => {
  const fresh = new FreshTools(clock);
  fresh.of(sandbox, base, []);
  fresh.of(sandbox, base, []);
  expect(looks).toBe(1);
  fresh.of(sandbox, base, [{ key: "layer", parts: [] }]);
  expect(looks).toBe(2);
  nowMs += 60_000;
  fresh.of(sandbox, base, []);
  expect(looks).toBe(3);
});
