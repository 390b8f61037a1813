import { existsSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { makeDirectory } from "./make-directory.ts";

async function room(): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), "rollout-make-"));
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  return directory;
}

test("makes all that is missing, and is content with what is there", async () => {
  const path = join(await room(), "a/b/c");
  await makeDirectory(path);
  await makeDirectory(path);
  expect(existsSync(path)).toBe(true);
});

test("below a file it says that the directory cannot be made", async () => {
  const file = join(await room(), "file");
  await writeFile(file, "");
  await expect(makeDirectory(join(file, "x"))).rejects.toMatchObject({
    code: "usage_invalid",
    message: expect.stringContaining(`${file}/x cannot be made`),
  });
});

test.skipIf(!existsSync("/proc/self"))("where nothing can be made it ends", async () => {
  await expect(makeDirectory("/proc/nope/x")).rejects.toMatchObject({ code: "usage_invalid" });
});
