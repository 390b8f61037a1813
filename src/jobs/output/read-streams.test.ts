import { appendFileSync, mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { systemClock } from "../../base/clock.ts";
import { makeRoot } from "../testing/temp-files.ts";
import { until } from "../testing/until.ts";
import { followStreams, readStreams, type StreamLines } from "./read-streams.ts";
import { selectStreams, trialStreams } from "./trial-streams.ts";

const { signal } = new AbortController();

function makeTrial(): string {
  const dir = makeRoot();
  for (const name of ["setup", "command", "logs/verifier"]) mkdirSync(join(dir, name), { recursive: true });
  return dir;
}

async function collect(parts: AsyncIterable<StreamLines>, into: string[] = []): Promise<string[]> {
  for await (const { stream, lines, isStart } of parts)
    for (const [index, line] of lines.entries())
      into.push(`${stream.name}${isStart && index === 0 ? "*" : ""}: ${line}`);
  return into;
}

test("prints every stream in order, with the last line also when it has no end", async () => {
  const dir = makeTrial();
  writeFileSync(join(dir, "command/stdout.txt"), "one\n\ntwo");
  writeFileSync(join(dir, "setup/stderr.txt"), "warned\n");
  writeFileSync(join(dir, "command/stderr.txt"), "");
  expect(await collect(readStreams({ dir, streams: trialStreams, signal }))).toEqual([
    "setup/stderr*: warned",
    "command/stdout*: one",
    "command/stdout: ",
    "command/stdout: two",
  ]);
});

test("a trial that has not started has no lines", async () => {
  expect(await collect(readStreams({ dir: join(makeRoot(), "missing"), streams: trialStreams, signal }))).toEqual([]);
});

test("a file is read in pieces and a long line is cut", async () => {
  const dir = makeTrial();
  writeFileSync(join(dir, "command/stdout.txt"), `${"é".repeat(500_000)}\nshort\n`);
  let parts = 0;
  const lines: string[] = [];
  for await (const part of readStreams({ dir, streams: selectStreams("command/stdout"), signal })) {
    parts++;
    lines.push(...part.lines);
  }
  expect(lines).toEqual([`${"é".repeat(2048)}… (995904 more bytes)`, "short"]);
  expect(parts).toBe(1);
});

test("a link in place of a stream is not followed", async () => {
  const dir = makeTrial();
  writeFileSync(join(dir, "secret"), "secret\n");
  symlinkSync(join(dir, "secret"), join(dir, "command/stdout.txt"));
  expect(await collect(readStreams({ dir, streams: trialStreams, signal }))).toEqual([]);
});

test("follows streams as they grow and appear, until the trial is over", async () => {
  const dir = makeTrial();
  const [stdout, stderr] = [join(dir, "command/stdout.txt"), join(dir, "command/stderr.txt")];
  writeFileSync(stdout, "be");
  let isOver = false;
  const seen: string[] = [];
  const following = collect(
    followStreams({ dir, streams: trialStreams, clock: systemClock, isOver: () => isOver, signal }),
    seen,
  );
  appendFileSync(stdout, "gun\nmore\nhalf");
  await until(() => seen.length === 2);
  writeFileSync(stderr, "oops\n");
  await until(() => seen.length === 3);
  appendFileSync(stdout, " a line\nrest");
  isOver = true;
  expect(await following).toEqual([
    "command/stdout*: begun",
    "command/stdout: more",
    "command/stderr*: oops",
    "command/stdout: half a line",
    "command/stdout: rest",
  ]);
});

test("goes on with the files of the next try when a trial is retried", async () => {
  const dir = makeTrial();
  const stdout = join(dir, "command/stdout.txt");
  writeFileSync(stdout, "first try\nlost");
  let isOver = false;
  const seen: string[] = [];
  const streams = selectStreams("stdout");
  const following = collect(followStreams({ dir, streams, clock: systemClock, isOver: () => isOver, signal }), seen);
  await until(() => seen.length === 1);
  mkdirSync(join(dir, "retries/1"), { recursive: true });
  renameSync(join(dir, "command"), join(dir, "retries/1/command"));
  mkdirSync(join(dir, "command"));
  writeFileSync(stdout, "second try\n");
  await until(() => seen.length === 3);
  isOver = true;
  expect(await following).toEqual([
    "command/stdout*: first try",
    "command/stdout: lost",
    "command/stdout*: second try",
  ]);
  rmSync(stdout);
});

test("ends at once when it is cancelled", async () => {
  const stop = new AbortController();
  const options = { dir: makeTrial(), streams: trialStreams, clock: systemClock, isOver: () => false };
  const following = collect(followStreams({ ...options, signal: stop.signal }));
  stop.abort(new Error("enough"));
  await expect(following).rejects.toThrow("enough");
});

test("streams are chosen by name, path, step or kind", () => {
  const namesOf = (word: string): string[] => selectStreams(word).map(({ path }) => path);
  expect(namesOf("command/stdout")).toEqual(["command/stdout.txt"]);
  expect(namesOf("logs/verifier/stderr.txt")).toEqual(["logs/verifier/stderr.txt"]);
  expect(namesOf("verifier")).toEqual(["logs/verifier/stdout.txt", "logs/verifier/stderr.txt"]);
  expect(namesOf("stderr")).toEqual(["setup/stderr.txt", "command/stderr.txt", "logs/verifier/stderr.txt"]);
  expect(() => selectStreams("agent")).toThrow(expect.objectContaining({ code: "usage_invalid" }));
});
