import { mkdtemp, readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import { createRedactor, noSecrets } from "../redactor.ts";
import { openLineFile } from "./line-file.ts";

let path: string;
beforeEach(async () => {
  path = join(await mkdtemp(join(tmpdir(), "rollout-lines-")), "lines.jsonl");
});

describe("a file of lines", () => {
  test("has a line when it is acknowledged, and lines in the order they came", async () => {
    await using file = await openLineFile(path, noSecrets);
    await Promise.all([file.append("one"), file.append("two")]);
    expect(await readFile(path, "utf8")).toBe("one\ntwo\n");
    await file.append("three");
    expect(await readFile(path, "utf8")).toBe("one\ntwo\nthree\n");
  });

  test("keeps the order when a long text is on its way", async () => {
    const long = "é".repeat(300_000);
    await using file = await openLineFile(path, noSecrets);
    const first = file.append(long);
    await Promise.resolve();
    await Promise.all([first, file.append("next"), file.append(long)]);
    await file.append("last");
    expect(await readFile(path, "utf8")).toBe(`${long}\nnext\n${long}\nlast\n`);
  });

  test("is the same whether lines come whole or in pieces, and whatever room they need", async () => {
    const long = "é😀".repeat(40_000);
    await using file = await openLineFile(path, noSecrets);
    await Promise.all(
      [["a", "b"], [], ["x", long, "y", long], ["c"], "d", [long, long, long]].map((line) => file.append(line)),
    );
    await file.append(["e", long.slice(0, 10_000)]);
    expect(await readFile(path, "utf8")).toBe(
      `ab\n\nx${long}y${long}\nc\nd\n${long.repeat(3)}\ne${long.slice(0, 10_000)}\n`,
    );
  });

  test("finds a secret that stands in two pieces", async () => {
    await using file = await openLineFile(path, createRedactor([{ name: "KEY", value: "abcdefgh1234" }]));
    await file.append(["x".repeat(5000), "abcdef", "gh1234"]);
    expect(await readFile(path, "utf8")).not.toContain("abcdefgh1234");
  });

  test("closes a last line that was cut short, and writes no secret", async () => {
    await writeFile(path, "half");
    await using file = await openLineFile(path, createRedactor([{ name: "KEY", value: "abcdefgh1234" }]));
    await file.append("it is abcdefgh1234");
    expect(await readFile(path, "utf8")).toMatch(/^half\nit is (?!.*abcdefgh1234).*\n$/);
  });

  test("holds what was appended before it is disposed, though nobody waited", async () => {
    const file = await openLineFile(path, noSecrets);
    void file.append("one");
    await file[Symbol.asyncDispose]();
    expect(await readFile(path, "utf8")).toBe("one\n");
  });

  test("rejects all that come after a failure", async () => {
    await using file = await openLineFile("/dev/full", noSecrets);
    await expect(file.append("one")).rejects.toMatchObject({ code: "ENOSPC" });
    await expect(file.append("two")).rejects.toMatchObject({ code: "ENOSPC" });
  });
});
