import { execFileSync } from "node:child_process";
import { appendFileSync, existsSync, mkdirSync, renameSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { systemClock } from "../../base/clock.ts";
import { readHost } from "../../base/host.ts";
import type { ByteRange, RunSource } from "../../store/run-source.ts";
import { onlyTrial, runJobOnRig, startJob } from "../testing/job-rig.ts";
import { makeRoot } from "../testing/temp-files.ts";
import { makeGate, until } from "../testing/until.ts";
import { openJobSource } from "./open-job-source.ts";

function openSource(root: string): RunSource {
  return openJobSource({ roots: ["jobs"], host: { ...readHost(process), cwd: root }, clock: systemClock });
}

async function readText(source: RunSource, name: string, range?: ByteRange): Promise<string | null> {
  const found = await source.artifact("run-1", onlyTrial, name, range);
  if (found === null) return null;
  let text = "";
  for await (const chunk of found.content) text += Buffer.from(chunk).toString();
  return text;
}

async function namesOf(source: RunSource): Promise<string[]> {
  return (await source.artifacts("run-1", onlyTrial)).map(({ name }) => name);
}

test("reads files of a trial and parts of them", async () => {
  const { root, run } = await runJobOnRig();
  const source = openSource(root);
  writeFileSync(join(run.dir, onlyTrial, "notes.txt"), "0123456789");
  expect(await source.artifacts("run-1", onlyTrial)).toContainEqual({
    name: "notes.txt",
    size: 10,
    mediaType: "text/plain",
  });
  expect(await readText(source, "notes.txt")).toBe("0123456789");
  expect(await readText(source, "notes.txt", { start: 2, end: 5 })).toBe("234");
  expect(await readText(source, "notes.txt", { start: 8, end: 100 })).toBe("89");
  expect(await readText(source, "notes.txt", { start: 10 })).toBe("");
  expect(await readText(source, "notes.txt", { last: 3 })).toBe("789");
  expect(await readText(source, "notes.txt", { last: 100 })).toBe("0123456789");
  expect(await source.artifact("run-1", onlyTrial, "notes.txt", { last: 3 })).toMatchObject({
    start: 7,
    artifact: { size: 10 },
  });
  await expect(readText(source, "notes.txt", { start: 11 })).rejects.toMatchObject({ code: "range_invalid" });
});

test("has the instruction of the task", async () => {
  const { root } = await runJobOnRig({ tasks: { one: { files: { "instruction.md": "Solve it.\n" } } } });
  const source = openSource(root);
  expect(await readText(source, "instruction.md")).toBe("Solve it.\n");
  expect(await readText(source, "instruction.md", { start: 6 })).toBe("it.\n");
  await expect(readText(source, "instruction.md", { start: 60 })).rejects.toMatchObject({ code: "range_invalid" });
});

test("reads files of a trial that is running", async () => {
  const gate = makeGate();
  const job = startJob({
    script: {
      async execute({ stdout }) {
        await stdout("working\n");
        await gate.passed;
        return 0;
      },
    },
  });
  const source = openSource(job.root);
  const file = join(job.jobDir, onlyTrial, "command", "stdout.txt");
  await until(() => existsSync(file));
  expect(await namesOf(source)).toContain("command/stdout.txt");
  for (let text: string | null = ""; text !== "working\n";) text = await readText(source, "command/stdout.txt");
  expect(await source.unit("run-1", onlyTrial)).toBeNull();
  gate.open();
  await job.finished;
});

test("neither lists nor opens links, FIFOs and files outside of the trial", async () => {
  const { root, run } = await runJobOnRig();
  const dir = join(run.dir, onlyTrial);
  const outside = join(root, "outside");
  mkdirSync(outside);
  writeFileSync(join(outside, "secret.txt"), "secret");
  symlinkSync(join(outside, "secret.txt"), join(dir, "link.txt"));
  symlinkSync(outside, join(dir, "linked"));
  execFileSync("mkfifo", [join(dir, "fifo.txt")]);
  const source = openSource(root);
  const names = await namesOf(source);
  for (const name of ["link.txt", "linked/secret.txt", "fifo.txt"]) {
    expect(names).not.toContain(name);
    expect(await readText(source, name)).toBeNull();
  }
  for (const name of [
    "../one__1/result.json",
    "../../../.rollout/journal.jsonl",
    "/etc/passwd",
    "",
    ".",
    "result.json\0",
  ])
    expect(await readText(source, name)).toBeNull();
  for (const key of ["..", "", ".rollout", "a/set", "a/set/one__1/../one__1", "a/set/other__1"])
    expect(await source.artifacts("run-1", key)).toEqual([]);
});

test("does not follow a link in place of the trial directory", async () => {
  const { root, run } = await runJobOnRig();
  const agentDir = join(run.dir, "a");
  const moved = join(makeRoot(), "moved");
  renameSync(agentDir, moved);
  symlinkSync(moved, agentDir);
  const source = openSource(root);
  expect(await namesOf(source)).toEqual(["instruction.md"]);
  expect(await readText(source, "result.json")).toBeNull();
});

test("reads through a link to the job directory itself", async () => {
  const { root, run } = await runJobOnRig();
  const other = makeRoot();
  symlinkSync(join(root, "jobs"), join(other, "jobs"));
  expect(await readText(openSource(other), "result.json")).toContain('"reward": 1');
  expect(run.dir).toContain(root);
});

test("does not open a file that a link replaces after it was listed", async () => {
  const { root, run } = await runJobOnRig();
  const dir = join(run.dir, onlyTrial);
  const source = openSource(root);
  mkdirSync(join(dir, "logs", "agent"), { recursive: true });
  writeFileSync(join(dir, "logs", "agent", "passwd"), "mine");
  const found = await source.artifact("run-1", onlyTrial, "logs/agent/passwd");
  renameSync(join(dir, "logs", "agent"), join(dir, "logs", "moved"));
  symlinkSync("/etc", join(dir, "logs", "agent"));
  const chunks: Uint8Array[] = [];
  for await (const chunk of found?.content ?? []) chunks.push(chunk);
  expect(chunks).toEqual([]);
});

test("reports the size a file has when it is opened, and survives one that shrinks", async () => {
  const { root, run } = await runJobOnRig();
  const file = join(run.dir, onlyTrial, "log.txt");
  writeFileSync(file, "one");
  const source = openSource(root);
  await source.artifacts("run-1", onlyTrial);
  appendFileSync(file, "two");
  const found = await source.artifact("run-1", onlyTrial, "log.txt");
  expect(found?.artifact.size).toBe(6);
  writeFileSync(file, "o");
  let text = "";
  for await (const chunk of found?.content ?? []) text += Buffer.from(chunk).toString();
  expect(text).toBe("o");
});
