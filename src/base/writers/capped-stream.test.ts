import { mkdtemp, readdir, readFile, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { createRedactor, noSecrets } from "../redactor.ts";
import { openCappedStream } from "./capped-stream.ts";

let dir: string;
let path: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "rollout-capped-"));
  path = join(dir, "stdout.txt");
});
afterEach(() => rm(dir, { recursive: true, force: true }));

/** Bytes of which no two neighbouring stretches look alike. */
function numbered(length: number): Buffer {
  return Buffer.from(Array.from({ length }, (_, n) => (n * 31 + (n >> 8) * 7) % 251));
}

/** What the file must hold, made in the simplest way. */
function expectedFile(all: Buffer, limit: number): Buffer {
  if (all.length <= limit) return all;
  const head = Math.ceil(limit / 2);
  const cut = all.length - limit;
  const marker = `\n[rollout: ${cut} bytes were cut here; output_limit keeps the first and the last half]\n`;
  return Buffer.concat([all.subarray(0, head), Buffer.from(marker), all.subarray(all.length - (limit - head))]);
}

async function writeAll(chunks: readonly Uint8Array[], limit: number): Promise<{ bytes: number; cutBytes: number }> {
  const stream = await openCappedStream(path, limit, noSecrets);
  for (const chunk of chunks) await stream.write(chunk);
  return stream.close();
}

describe("the file", () => {
  test.each([0, 1, 499, 500, 501, 999, 1000, 1001, 1499, 1500, 1501, 10_000])(
    "of %d bytes under a limit of 1000 keeps the first and the last half",
    async (length) => {
      const all = numbered(length);
      const chunks = Array.from({ length: Math.ceil(length / 77) }, (_, n) => all.subarray(n * 77, (n + 1) * 77));
      const sizes = await writeAll(chunks, 1000);
      expect(sizes).toEqual({ bytes: length, cutBytes: Math.max(0, length - 1000) });
      expect(await readFile(path)).toEqual(expectedFile(all, 1000));
      expect(await readdir(dir)).toEqual(["stdout.txt"]);
    },
  );

  test.each([0, 1, 2, 3])("keeps exactly %d bytes when that is the limit", async (limit) => {
    const sizes = await writeAll([Buffer.from("abc"), Buffer.from("defg")], limit);
    expect(sizes).toEqual({ bytes: 7, cutBytes: 7 - limit });
    expect(await readFile(path)).toEqual(expectedFile(Buffer.from("abcdefg"), limit));
    expect(await readdir(dir)).toEqual(["stdout.txt"]);
  });

  test("is what a naive model says, for any limit and any chunks", async () => {
    const chunks = fc.array(fc.uint8Array({ maxLength: 30 }), { maxLength: 12 });
    await fc.assert(
      fc.asyncProperty(chunks, fc.nat(60), async (parts, limit) => {
        await writeAll(parts, limit);
        expect(await readFile(path)).toEqual(expectedFile(Buffer.concat(parts), limit));
      }),
      { numRuns: 150 },
    );
    expect(await readdir(dir)).toEqual(["stdout.txt"]);
  });

  test("of many megabytes in large chunks is cut in the same way", async () => {
    const all = numbered(5 << 20);
    await writeAll([all.subarray(0, 3 << 20), all.subarray(3 << 20)], (3 << 20) + 1);
    expect((await readFile(path)).equals(expectedFile(all, (3 << 20) + 1))).toBe(true);
  });

  test("can be read while it grows", async () => {
    const stream = await openCappedStream(path, 1 << 20, noSecrets);
    await stream.write(Buffer.from("first line\n"));
    await expect.poll(() => readFile(path, "utf8"), { interval: 5 }).toBe("first line\n");
    await stream.write(Buffer.from("second line\n"));
    await expect.poll(() => readFile(path, "utf8"), { interval: 5 }).toBe("first line\nsecond line\n");
    await stream.close();
  });

  test("replaces what an earlier try left", async () => {
    await writeAll([Buffer.from("a long first output")], 1000);
    await writeAll([Buffer.from("short")], 1000);
    expect(await readFile(path, "utf8")).toBe("short");
  });

  test("has what was written, although the producer used its buffer again", async () => {
    const stream = await openCappedStream(path, 1000, noSecrets);
    const buffer = Buffer.alloc(3);
    for (const text of ["abc", "def", "ghi"]) {
      buffer.write(text);
      void stream.write(buffer);
    }
    await stream.close();
    expect(await readFile(path, "utf8")).toBe("abcdefghi");
  });

  test("has no secrets, also across chunks and across the cut", async () => {
    const stream = await openCappedStream(path, 40, createRedactor([{ name: "K", value: "hunter2-hunter2" }]));
    for (const text of ["x".repeat(15), "hunter2-", "hunter2", "y".repeat(100), "hunter2-hunter", "2", "hunter2"]) {
      await stream.write(Buffer.from(text));
    }
    await stream.close();
    const text = await readFile(path, "utf8");
    expect(text).toMatch(/^x{15}\[reda\n\[rollout: \d+ bytes were cut here.*\]\ny\[redacted:K\]hunter2$/);
  });
});

describe("a producer that is faster than the disk", () => {
  test("is asked to wait once a megabyte has piled up, and not before", async () => {
    const stream = await openCappedStream(path, 64 << 20, noSecrets);
    const chunk = Buffer.alloc(64 << 10);
    const answers = Array.from({ length: 40 }, () => stream.write(chunk));
    const firstWait = answers.findIndex((answer) => answer !== undefined);
    expect(firstWait).toBe(16);
    await answers[firstWait];
    expect(stream.write(Buffer.from("again"))).toBeUndefined();
    expect(await stream.close()).toEqual({ bytes: 40 * chunk.length + 5, cutBytes: 0 });
  });

  test("waits for a single chunk that is larger than that", async () => {
    const stream = await openCappedStream(path, 64 << 20, noSecrets);
    const wait = stream.write(Buffer.alloc(2 << 20));
    expect(wait).toBeInstanceOf(Promise);
    await wait;
    await stream.close();
  });
});

describe("a disk that refuses", () => {
  test("never makes a write throw, and is told when the stream is closed", async () => {
    const stream = await openCappedStream("/dev/full", 1000, noSecrets);
    for (let n = 0; n < 5; n++) await stream.write(Buffer.from("line\n"));
    await expect(stream.close()).rejects.toMatchObject({ code: "ENOSPC" });
  });

  test("does not keep its producer waiting", async () => {
    const stream = await openCappedStream("/dev/full", 64 << 20, noSecrets);
    await stream.write(Buffer.alloc(3 << 20));
    expect(stream.write(Buffer.alloc(3 << 20))).toBeUndefined();
    await expect(stream.close()).rejects.toMatchObject({ code: "ENOSPC" });
  });

  test("leaves no helper file when it refuses the second half", async () => {
    await symlink("/dev/full", `${path}.tail`);
    const stream = await openCappedStream(path, 10, noSecrets);
    await stream.write(Buffer.from("0123456789"));
    await expect(stream.close()).rejects.toMatchObject({ code: "ENOSPC" });
    expect(await readFile(path, "utf8")).toBe("01234");
    expect(await readdir(dir)).toEqual(["stdout.txt"]);
  });

  test("a directory that is not there is told at once", async () => {
    await expect(openCappedStream(join(dir, "no", "x"), 10, noSecrets)).rejects.toMatchObject({ code: "ENOENT" });
  });
});

test("what arrives after the end is dropped and leaves no helper file", async () => {
  const stream = await openCappedStream(path, 10, noSecrets);
  await stream.write(Buffer.from("in time"));
  const closing = stream.close();
  await stream.write(Buffer.from("too late, and longer than the limit"));
  expect(await closing).toEqual({ bytes: 7, cutBytes: 0 });
  await stream.write(Buffer.from("much too late, and longer than the limit"));
  expect(await readFile(path, "utf8")).toBe("in time");
  expect(await readdir(dir)).toEqual(["stdout.txt"]);
});
