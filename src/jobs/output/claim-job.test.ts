import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { systemClock } from "../../base/clock.ts";
import { readHost } from "../../base/host.ts";
import { makeRoot } from "../testing/temp-files.ts";
import { claimJob } from "./claim-job.ts";
import { jobPaths } from "./job-paths.ts";

const host = readHost(process);
const options = { host, clock: systemClock, signal: new AbortController().signal };

function makePaths(owner: object | null, folder = "lock"): ReturnType<typeof jobPaths> {
  const paths = jobPaths(makeRoot());
  mkdirSync(join(paths.own, folder), { recursive: true });
  const whole = { pid: 1, bootId: host.bootId, hostname: host.hostname, token: "0badcafe", ...owner };
  writeFileSync(join(paths.own, folder, "owner.json"), JSON.stringify(whole));
  return paths;
}

test("R38: a process of another machine is respected, and the message says what to remove when it is gone", async () => {
  const paths = makePaths({ pid: 4711, hostname: "elsewhere" });
  await expect(claimJob(paths, options)).rejects.toMatchObject({
    code: "in_use",
    message: `${paths.dir} is in use by process 4711 on elsewhere`,
    hint: expect.stringContaining(paths.claim),
  });
});

test("R38: what a process of an earlier boot held is taken over, and given back in the end", async () => {
  const paths = makePaths({ bootId: "an earlier one" });
  {
    await using _claim = await claimJob(paths, options);
    expect(existsSync(paths.claim)).toBe(true);
  }
  expect(existsSync(paths.claim)).toBe(false);
});

test("R38: what a process left that died while it took the lock is cleared away", async () => {
  const paths = makePaths({ bootId: "an earlier one" }, "lock-0badcafe.new");
  await using _claim = await claimJob(paths, options);
  expect(existsSync(join(paths.own, "lock-0badcafe.new"))).toBe(false);
});
