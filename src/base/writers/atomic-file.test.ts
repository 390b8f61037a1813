import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { createRedactor, noSecrets } from "../redactor.ts";
import { writeFileAtomic, writeJsonAtomic } from "./atomic-file.ts";

let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "rollout-atomic-"));
});
afterEach(() => rm(dir, { recursive: true, force: true }));

describe("writeFileAtomic", () => {
  test("makes a new file and replaces an old one, leaving nothing beside it", async () => {
    const path = join(dir, "result.json");
    await writeFileAtomic(path, "one", noSecrets);
    await writeFileAtomic(path, "two", noSecrets);
    expect(await readFile(path, "utf8")).toBe("two");
    expect(await readdir(dir)).toEqual(["result.json"]);
  });

  test("a reader never sees a part, however often the file is replaced", async () => {
    const path = join(dir, "result.json");
    const whole = (letter: string): string => letter.repeat(300_000);
    await writeFileAtomic(path, whole("a"), noSecrets);
    for (const letter of "bcdefghijk") {
      const writing = writeFileAtomic(path, whole(letter), noSecrets);
      const texts = await Promise.all(Array.from({ length: 5 }, () => readFile(path, "utf8")));
      for (const text of texts) expect(text).toBe(whole(text.charAt(0)));
      await writing;
      expect(await readFile(path, "utf8")).toBe(whole(letter));
    }
  });

  test("many writers at once leave one whole file and nothing else", async () => {
    const path = join(dir, "result.json");
    const texts = Array.from({ length: 20 }, (_, n) => String(n).repeat(10_000));
    await Promise.all(texts.map((text) => writeFileAtomic(path, text, noSecrets)));
    expect(texts).toContain(await readFile(path, "utf8"));
    expect(await readdir(dir)).toEqual(["result.json"]);
  });

  test("a failure keeps the old content and takes its half away", async () => {
    const path = join(dir, "taken");
    await mkdir(path);
    await writeFile(join(path, "inside"), "kept");
    await expect(writeFileAtomic(path, "text", noSecrets)).rejects.toMatchObject({ syscall: "rename" });
    expect(await readdir(dir)).toEqual(["taken"]);
    expect(await readFile(join(path, "inside"), "utf8")).toBe("kept");
  });

  test("a directory that is not there is told", async () => {
    await expect(writeFileAtomic(join(dir, "no", "file"), "x", noSecrets)).rejects.toMatchObject({ code: "ENOENT" });
  });

  test("secrets do not reach the disk", async () => {
    const path = join(dir, "error.txt");
    await writeFileAtomic(path, "key is hunter2-hunter2", createRedactor([{ name: "K", value: "hunter2-hunter2" }]));
    expect(await readFile(path, "utf8")).toBe("key is [redacted:K]");
  });
});

test("a JSON file stays JSON although a secret looks like one of its numbers", async () => {
  const path = join(dir, "config.json");
  await writeJsonAtomic(
    path,
    { limit: 10_000_000, id: "10000000" },
    createRedactor([{ name: "N", value: "10000000" }]),
  );
  expect(await readFile(path, "utf8")).toBe('{\n  "limit": 10000000,\n  "id": "[redacted:N]"\n}\n');
});
