import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect } from "vitest";
import type { JobResultFile } from "../../src/jobs/output/job-result-schema.ts";
import type { TrialResultFile } from "../../src/jobs/output/trial-result-schema.ts";
import type { Room, Running } from "./rollout-cli.ts";

export interface KillsOptions {
  readonly room: Pick<Room, "path" | "run">;
  /** Starts a command of ours where the environments can be had. */
  readonly start: (args: readonly string[]) => Running;
  readonly random: () => number;
  /** How many kills are to be survived, over as many jobs as it takes. */
  readonly kills: number;
  /** What is left of the given processes and runs; looked at after each job. */
  readonly left: (pids: readonly number[], runIds: readonly string[]) => Promise<readonly string[]> | readonly string[];
}

/** The most that one job has to survive before it may come to its end. */
const mostKillsOfOneJob = 4;

/** Kills jobs at random moments and resumes each until it is done: nothing may be lost, run twice or left behind. */
export async function resumeAfterKills(options: KillsOptions): Promise<void> {
  const { room, start, random, kills } = options;
  const from = performance.now();
  const whole = await start(["job.yaml", "-q", "--name", "whole"]).ended;
  const usualMs = performance.now() - from;
  expect(whole.code, whole.stderr).toBe(3);
  const expected = readResult(room.path("jobs/whole"));
  const jobMs = expected.total_duration_sec * 1000;
  const moments: number[] = [];
  for (let job = 1; moments.length < kills; job++) {
    const name = `job-${job}`;
    const dir = room.path("jobs", name);
    const pids: number[] = [];
    const cut = new Set<string>();
    const wanted = Math.min(kills - moments.length, 1 + Math.floor(random() * mostKillsOfOneJob));
    // One that came to its end before it was killed begins no session any more.
    for (let left = wanted; left > 0 && !hasEnded(dir); left--) {
      const isEarly = random() < 0.2;
      const momentMs = Math.floor(random() * (isEarly ? usualMs : jobMs));
      const before = finishedTrials(dir);
      const sessions = runIdsOf(dir).length;
      const running = start(["job.yaml", "-q", "--name", name, "--resume"]);
      pids.push(running.pid);
      if (!isEarly) await running.until("it has begun", () => runIdsOf(dir).length > sessions);
      await sleep(momentMs);
      running.kill("SIGKILL");
      const { signal } = await running.ended;
      if (signal === "SIGKILL") moments.push(momentMs);
      expectWhole(dir, before, `${name} after ${momentMs} ms`);
      for (const trial of cutTrials(dir)) cut.add(trial);
    }
    const before = finishedTrials(dir);
    const last = start(["job.yaml", "-q", "--name", name, "--resume"]);
    pids.push(last.pid);
    const end = await last.ended;
    expect(end.code, `${name}: ${end.stderr}`).toBe(3);
    expectWhole(dir, before, name);
    expectSame(dir, expected, cut, name);
    const verified = await room.run(["verify", join("jobs", name)]);
    expect(verified.code, `${name}: ${verified.stdout}${verified.stderr}`).toBe(0);
    expect(await options.left(pids, runIdsOf(dir)), name).toEqual([]);
  }
  console.log(`killed ${moments.length} times after ${Math.min(...moments)} to ${Math.max(...moments)} ms and resumed`);
}

function expectSame(dir: string, expected: JobResultFile, cut: ReadonlySet<string>, name: string): void {
  const result = readResult(dir);
  expect(result.results, name).toEqual(expected.results);
  const { total_trials, completed_trials, failed_trials, skipped_trials } = result;
  expect(completed_trials + failed_trials + skipped_trials, name).toBe(total_trials);
  expect(skipped_trials, name).toBe(0);
  // What a kill left half done is not taken for an edit.
  expect(
    result.warnings.filter((warning) => warning.includes("changed after")),
    name,
  ).toEqual([]);
  for (const file of resultFiles(dir)) {
    const { tries } = JSON.parse(readFileSync(file, "utf8")) as TrialResultFile;
    const trial = dirname(file);
    const retries = join(trial, "retries");
    const kept = existsSync(retries) ? readdirSync(retries) : [];
    expect(tries, file).toBe(1 + kept.length);
    expect(kept.length, file).toBe([...cut].filter((one) => one.startsWith(`${trial}:`)).length);
  }
}

/** Trials that left something and no result; each try of one has another mark. */
function cutTrials(dir: string): string[] {
  if (!existsSync(dir)) return [];
  const trials = readdirSync(dir, { recursive: true, encoding: "utf8" }).filter((path) =>
    /^[^/.]+\/[^/]+\/[^/]+$/.test(path),
  );
  return trials.flatMap((path) => {
    const names = readdirSync(join(dir, path)).filter((name) => !name.endsWith(".tmp"));
    const isMoving =
      names.includes("retries") && readdirSync(join(dir, path, "retries")).some((k) => k.endsWith(".moving"));
    const [first] = names.filter((name) => name !== "retries").sort();
    if (first === undefined || isMoving || names.includes("result.json")) return [];
    return [`${join(dir, path)}:${statSync(join(dir, path, first)).ino}`];
  });
}

/** Every file can be read, and what was finished before has not been touched. */
function expectWhole(dir: string, before: ReadonlyMap<string, number>, when: string): void {
  for (const file of resultFiles(dir)) JSON.parse(readFileSync(file, "utf8"));
  if (existsSync(join(dir, "result.json"))) readResult(dir);
  for (const [file, inode] of before) expect(statSync(file).ino, `${when}: ${file}`).toBe(inode);
}

function hasEnded(dir: string): boolean {
  const journal = join(dir, ".rollout/journal.jsonl");
  return existsSync(journal) && /"type":"job_ended"[^\n]*\n$/.test(readFileSync(journal, "utf8"));
}

function finishedTrials(dir: string): Map<string, number> {
  return new Map(resultFiles(dir).map((file) => [file, statSync(file).ino]));
}

function resultFiles(dir: string): string[] {
  if (!existsSync(dir)) return [];
  return readdirSync(dir, { recursive: true, encoding: "utf8" })
    .filter((path) => /^[^/]+\/[^/]+\/[^/]+\/result\.json$/.test(path))
    .map((path) => join(dir, path));
}

function readResult(dir: string): JobResultFile {
  return JSON.parse(readFileSync(join(dir, "result.json"), "utf8")) as JobResultFile;
}

function runIdsOf(dir: string): string[] {
  if (!existsSync(join(dir, ".rollout/journal.jsonl"))) return [];
  const lines = readFileSync(join(dir, ".rollout/journal.jsonl"), "utf8").split("\n");
  return lines.flatMap((line) => /^\{"type":"job_started".*?"run_id":"([^"]+)"/.exec(line)?.[1] ?? []);
}
