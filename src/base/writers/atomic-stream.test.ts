import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { copyFileAtomic } from "./atomic-stream.ts";

let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "rollout-copy-"));
});
afterEach(() => rm(dir, { recursive: true, force: true }));

test("a copy takes the place of an old file and goes its own way from then on", async () => {
  const [from, to] = [join(dir, "from"), join(dir, "to")];
  await writeFile(to, "old");
  await writeFile(from, "é\n".repeat(100_000));
  await copyFileAtomic(from, to);
  await writeFile(from, "changed");
  expect(await readFile(to, "utf8")).toBe("é\n".repeat(100_000));
  expect((await readdir(dir)).sort()).toEqual(["from", "to"]);
});

test("what cannot be copied leaves the old file and nothing beside it", async () => {
  await writeFile(join(dir, "to"), "old");
  await expect(copyFileAtomic(join(dir, "none"), join(dir, "to"))).rejects.toMatchObject({ code: "ENOENT" });
  expect(await readFile(join(dir, "to"), "utf8")).toBe("old");
  expect(await readdir(dir)).toEqual(["to"]);
});
