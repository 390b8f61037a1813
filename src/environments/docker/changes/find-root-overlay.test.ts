import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { findRootOverlay, listMountPoints } from "./find-root-overlay.ts";

function makeLayers(): string {
  const dir = realpathSync(mkdtempSync(join(tmpdir(), "rollout-overlay-")));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  for (const name of ["upper", "one", "two words"]) mkdirSync(join(dir, name));
  symlinkSync("one", join(dir, "short"));
  return dir;
}

const line = (target: string, type: string, options: string): string =>
  `640 580 0:52 / ${target} rw,relatime - ${type} overlay ${options}`;

test("finds the upper and the lower directories of a root, short links resolved", () => {
  const dir = makeLayers();
  const options = `rw,lowerdir=${dir}/short:${dir}/two\\040words,upperdir=${dir}/upper,workdir=${dir}/work`;
  const lowers = [join(dir, "one"), join(dir, "two words")].map((path) => ({ path, isPublicOnly: false }));
  expect(findRootOverlay(line("/", "overlay", options))).toEqual({ target: "/", upper: join(dir, "upper"), lowers });
});

test("reads the newer form of the option", () => {
  const dir = makeLayers();
  const options = `rw,lowerdir+=${dir}/one,lowerdir+=${dir}/two\\040words,upperdir=${dir}/upper`;
  expect(findRootOverlay(line("/", "overlay", options))?.lowers.map(({ path }) => path)).toEqual([
    join(dir, "one"),
    join(dir, "two words"),
  ]);
});

test("ignores a root that was mounted later, inside the container", () => {
  const dir = makeLayers();
  const first = line("/", "ext4", "rw");
  const later = line("/", "overlay", `rw,lowerdir=${dir}/one,upperdir=${dir}/upper`);
  expect(findRootOverlay(`${first}\n${later}`)).toBeNull();
});

test.each([
  ["relative directories", "rw,lowerdir=l/one:l/two,upperdir=abc/diff"],
  ["directories that are not here", "rw,lowerdir=/nowhere/one,upperdir=/nowhere/upper"],
  ["no upper directory", "ro,lowerdir=/tmp"],
])("gives up on %s", (_, options) => {
  expect(findRootOverlay(line("/", "overlay", options))).toBeNull();
});

test("lists what is mounted on top of the root", () => {
  const table = [line("/", "overlay", "rw"), line("/logs", "ext4", "rw"), line("/a\\040b", "tmpfs", "rw"), ""];
  expect(listMountPoints(table.join("\n"))).toEqual(["/logs", "/a b"]);
});
