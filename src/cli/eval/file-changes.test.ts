import { mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { FileChanges } from "./file-changes.ts";

const never = new AbortController().signal;

async function makeFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "rollout-changes-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  return folder;
}

test("a change that comes before anybody asks is told, and others in the folder are not", async () => {
  const folder = await makeFolder();
  const file = join(folder, "a.ts");
  using changes = new FileChanges();
  changes.add([file]);
  await writeFile(join(folder, "b.ts"), "");
  await writeFile(file, "1");
  await new Promise((resolve) => setTimeout(resolve, 50));
  expect(await changes.first(never)).toBe(file);
});

test("a file that is named later and replaced as editors do is told", async () => {
  const folder = await makeFolder();
  using changes = new FileChanges();
  changes.add([join(folder, "a.ts")]);
  changes.add([join(folder, "b.ts")]);
  await writeFile(join(folder, "b.ts~"), "1");
  await rename(join(folder, "b.ts~"), join(folder, "b.ts"));
  expect(await changes.first(never)).toBe(join(folder, "b.ts"));
});

test("who is not interested any more is not kept waiting", async () => {
  using changes = new FileChanges();
  const reason = new Error("enough");
  await expect(changes.first(AbortSignal.abort(reason))).rejects.toBe(reason);
});
