import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { FakeClock } from "../../../base/testing/fake-clock.ts";
import { execCredentials } from "./exec-credentials.ts";

const never = new AbortController().signal;
// It and what it starts do not end when they are asked to.
const stubborn = "trap '' TERM; sleep 600 & echo $$ $! > pids.new; mv pids.new pids; wait";

function openProgram(script: string) {
  const dir = mkdtempSync(join(tmpdir(), "rollout-credentials-"));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  const command = join(dir, "give-token");
  writeFileSync(command, `#!/bin/sh\ncd ${dir}\n${script}\n`);
  chmodSync(command, 0o755);
  const clock = new FakeClock();
  const program = { command, args: ["token"], env: {}, apiVersion: "v1", hint: undefined };
  const source = execCredentials(program, { PATH: process.env["PATH"] }, clock);
  const begun = (): Promise<void> => expect.poll(() => existsSync(join(dir, "pids")), { timeout: 10_000 }).toBe(true);
  const isAlive = (): boolean[] =>
    readFileSync(join(dir, "pids"), "utf8")
      .trim()
      .split(" ")
      .map((pid) => existsSync(`/proc/${pid}/exe`));
  return { source, clock, command, begun, isAlive };
}

test("a program that hangs is ended with all it started, and the error names it", async () => {
  const { source, clock, command, begun, isAlive } = openProgram(stubborn);
  const asked = source.get(never);
  asked.catch(() => {});
  await begun();
  await clock.advance(30_001);
  await clock.advance(2000);
  await expect(asked).rejects.toMatchObject({
    code: "provider_unavailable",
    message: `${command}, which gives the credentials: it did not answer within 30 seconds`,
    hint: expect.stringContaining("run it by hand"),
  });
  await expect.poll(isAlive).toEqual([false, false]);
  expect(clock.pendingTimers).toBe(0);
});

test("a program is ended when the last one who waits for it is cancelled", async () => {
  const { source, clock, begun, isAlive } = openProgram(stubborn);
  const [first, second] = [new AbortController(), new AbortController()];
  const asked = [source.get(first.signal), source.get(second.signal)] as const;
  for (const one of asked) one.catch(() => {});
  await begun();
  first.abort(new Error("first"));
  await expect(asked[0]).rejects.toThrow("first");
  expect(isAlive()).toEqual([true, true]);
  second.abort(new Error("second"));
  await expect.poll(() => clock.pendingTimers).toBeGreaterThan(0);
  await clock.advance(2000);
  await expect(asked[1]).rejects.toThrow("second");
  await expect.poll(isAlive).toEqual([false, false]);
});

test("a program that prints without end is ended", async () => {
  const { source } = openProgram("exec cat /dev/zero");
  await expect(source.get(never)).rejects.toMatchObject({
    code: "provider_unavailable",
    message: expect.stringContaining("it printed more than 1 MiB"),
  });
});

test("credentials are asked for once by all who need them at the same time", async () => {
  const { source } = openProgram(`echo x >> calls; [ "$(cat calls)" = x ] && echo '{"status":{"token":"t"}}'`);
  const all = await Promise.all([source.get(never), source.get(never)]);
  expect(all.map(({ token }) => token)).toEqual(["t", "t"]);
});
