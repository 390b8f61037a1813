import { appendFile, mkdtemp, readFile, rm, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { createRedactor, noSecrets } from "../redactor.ts";
import { openJournal, readJournal } from "./journal.ts";

let dir: string;
let path: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "rollout-journal-"));
  path = join(dir, "journal.jsonl");
});
afterEach(() => rm(dir, { recursive: true, force: true }));

describe("what was acknowledged", () => {
  test("can be read at once, while the journal is open", async () => {
    await using journal = await openJournal(path, noSecrets);
    for (let n = 0; n < 5; n++) {
      await journal.append({ n });
      expect(await readJournal(path)).toHaveLength(n + 1);
    }
  });

  test("stands in the order of the calls, also when hundreds wait together", async () => {
    const lines = Array.from({ length: 500 }, (_, n) => ({ n, text: "x".repeat(n) }));
    await using journal = await openJournal(path, noSecrets);
    await Promise.all(lines.map((line) => journal.append(line)));
    expect(await readJournal(path)).toEqual(lines);
  });

  test("calls that came together are acknowledged in their order", async () => {
    const done: number[] = [];
    await using journal = await openJournal(path, noSecrets);
    await Promise.all(Array.from({ length: 50 }, (_, n) => journal.append({ n }).then(() => done.push(n))));
    expect(done).toEqual(Array.from({ length: 50 }, (_, n) => n));
  });

  test("keeps line breaks and separators of Unicode inside its line", async () => {
    const lines = [{ text: "a\nb\r\nc" }, { text: "\u2028\u2029\u0085" }, "plain", null, [1, 2]];
    await using journal = await openJournal(path, noSecrets);
    for (const line of lines) await journal.append(line);
    expect(await readJournal(path)).toEqual(lines);
  });

  test("is written before the journal is closed, even when nobody waited", async () => {
    const journal = await openJournal(path, noSecrets);
    const waiting = [journal.append(1), journal.append(2)];
    await journal[Symbol.asyncDispose]();
    expect(await readJournal(path)).toEqual([1, 2]);
    await Promise.all(waiting);
  });

  test("has no secrets, and is JSON although a secret looks like a number in it", async () => {
    const secrets = ["hunter2-hunter2", "10000000"].map((value) => ({ name: "K", value }));
    await using journal = await openJournal(path, createRedactor(secrets));
    await journal.append({ message: 'said "hunter2-hunter2"', bytes: 10_000_000 });
    expect(await readJournal(path)).toEqual([{ message: 'said "[redacted:K]"', bytes: 10_000_000 }]);
  });
});

describe("a line that a crash cut short", () => {
  test("is left out wherever it was cut", async () => {
    const whole = '{"n":1}\n{"n":2,"text":"é🔑"}\n';
    const bytes = Buffer.byteLength(whole);
    for (let cut = 1; cut < Buffer.byteLength('{"n":2,"text":"é🔑"}\n'); cut++) {
      await writeFile(path, whole);
      await truncate(path, bytes - cut);
      const values = await readJournal(path);
      expect(values[0]).toEqual({ n: 1 });
      expect(values.slice(1)).toEqual(cut === 1 ? [{ n: 2, text: "é🔑" }] : []);
    }
  });

  test("does not swallow what is appended later", async () => {
    await writeFile(path, '{"n":1}\n{"n":2,"te');
    await using journal = await openJournal(path, noSecrets);
    await journal.append({ n: 3 });
    await journal.append({ n: 4 });
    expect(await readJournal(path)).toEqual([{ n: 1 }, { n: 3 }, { n: 4 }]);
  });
});

describe("opening", () => {
  test("an existing journal goes on where it ended, without an empty line", async () => {
    for (const n of [1, 2]) {
      await using journal = await openJournal(path, noSecrets);
      await journal.append({ n });
    }
    expect(await readFile(path, "utf8")).toBe('{"n":1}\n{"n":2}\n');
  });

  test("a journal in a directory that is not there is told", async () => {
    await expect(openJournal(join(dir, "no", "journal"), noSecrets)).rejects.toMatchObject({ code: "ENOENT" });
  });

  test("a file of empty lines has no values, a missing file is told", async () => {
    await appendFile(path, "\n\n  \n");
    expect(await readJournal(path)).toEqual([]);
    await expect(readJournal(join(dir, "none"))).rejects.toMatchObject({ code: "ENOENT" });
  });
});

describe("a disk that refuses", () => {
  test("rejects every line that waited, and every later one", async () => {
    const journal = await openJournal("/dev/full", noSecrets);
    const waiting = await Promise.allSettled([1, 2, 3].map((n) => journal.append(n)));
    expect(waiting.map((end) => end.status)).toEqual(["rejected", "rejected", "rejected"]);
    await expect(journal.append(4)).rejects.toMatchObject({ code: "ENOSPC" });
    await journal[Symbol.asyncDispose]();
  });

  test("closing a journal that failed, or closing twice, does not throw", async () => {
    const journal = await openJournal("/dev/full", noSecrets);
    await journal.append(1).catch(() => {});
    await journal[Symbol.asyncDispose]();
    await journal[Symbol.asyncDispose]();
    await expect(journal.append(2)).rejects.toMatchObject({ code: "ENOSPC" });
  });
});

test("any values come back as they went in", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.jsonValue({ noUnicodeString: false }), { maxLength: 8 }), async (values) => {
      await rm(path, { force: true });
      await using journal = await openJournal(path, noSecrets);
      await Promise.all(values.map((value) => journal.append(value)));
      expect(await readJournal(path)).toEqual(JSON.parse(JSON.stringify(values)));
    }),
    { numRuns: 40 },
  );
});
