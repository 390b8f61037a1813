import {
  appendFileSync,
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { beforeEach, expect, onTestFinished, test } from "vitest";
import { differingTools, readToolMarks } from "./tool-marks.ts";

let root = "";
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "rollout-tools-"));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  for (const folder of ["usr/bin", "usr/lib/x86_64-linux-gnu", "etc"])
    mkdirSync(join(root, folder), { recursive: true });
  symlinkSync("usr/bin", join(root, "bin"));
  symlinkSync("usr/lib", join(root, "lib"));
  symlinkSync("dash", join(root, "usr/bin/sh"));
  for (const file of ["usr/bin/bash", "usr/bin/dash", "usr/lib/x86_64-linux-gnu/libc.so.6"])
    writeFileSync(join(root, file), file);
});

async function changesAfter(change: () => void): Promise<string[]> {
  const before = readToolMarks(root);
  // The kernel's clock for files goes in steps.
  await sleep(20);
  change();
  return differingTools(before, readToolMarks(root));
}

test("what a task does elsewhere is its own business", async () => {
  const changes = await changesAfter(() => {
    writeFileSync(join(root, "usr/bin/python3"), "");
    writeFileSync(join(root, "etc/ld.so.conf"), "");
  });
  expect(changes).toEqual([]);
});

test("a shell that is written to, replaced, or replaced with its old size and times is seen", async () => {
  const path = join(root, "usr/bin/bash");
  expect(await changesAfter(() => appendFileSync(path, "!"))).toEqual(["/usr/bin/bash"]);
  expect(await changesAfter(() => (writeFileSync(`${path}2`, "x"), renameSync(`${path}2`, path)))).toEqual([
    "/usr/bin/bash",
  ]);
  const forged = (): void => {
    writeFileSync(path, "y");
    utimesSync(path, 1, 1);
  };
  forged();
  expect(await changesAfter(forged)).toEqual(["/usr/bin/bash"]);
});

test("a library that every program loads first, another loader and another C library are seen", async () => {
  const changes = await changesAfter(() => {
    writeFileSync(join(root, "etc/ld.so.preload"), "/evil.so");
    writeFileSync(join(root, "usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2"), "");
    writeFileSync(join(root, "usr/lib/x86_64-linux-gnu/libc.so.6"), "other");
  });
  expect(changes).toEqual([
    "/etc/ld.so.preload",
    "/usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2",
    "/usr/lib/x86_64-linux-gnu/libc.so.6",
  ]);
});

test("what a link at the end leads to is looked at, in the same root file system", async () => {
  const folder = join(root, "usr/lib/x86_64-linux-gnu");
  writeFileSync(join(folder, "libtinfo.so.6.4"), "");
  symlinkSync("libtinfo.so.6.4", join(folder, "libtinfo.so.6"));
  symlinkSync("/usr/lib/other/busybox", join(root, "usr/bin/busybox"));
  mkdirSync(join(root, "usr/lib/other"));
  writeFileSync(join(root, "usr/lib/other/busybox"), "");
  const changes = await changesAfter(() => {
    writeFileSync(join(folder, "libtinfo.so.6.4"), "evil");
    writeFileSync(join(root, "usr/lib/other/busybox"), "evil");
  });
  expect(changes).toEqual(["/usr/lib/other/busybox", "/usr/lib/x86_64-linux-gnu/libtinfo.so.6.4"]);
});

test("a link that leads elsewhere is seen and never followed", async () => {
  const changes = await changesAfter(() => {
    rmSync(join(root, "bin"));
    symlinkSync("/bin", join(root, "bin"));
    rmSync(join(root, "usr/bin/sh"));
    symlinkSync("/bin/bash", join(root, "usr/bin/sh"));
  });
  expect(changes).toEqual(["/bin", "/usr/bin/sh"]);
});
