import { describe, expect, test } from "vitest";
import { readHost } from "./host.ts";

function processLike(env: Record<string, string | undefined>): Parameters<typeof readHost>[0] {
  return { env, cwd: () => "/work/here", platform: "linux", getuid: () => 1000, pid: 4711, execPath: "/bin/node" };
}

describe("readHost", () => {
  test("takes its facts from the process it was given", () => {
    expect(readHost(processLike({ HOME: "/home/ann", KEY: "v" }))).toMatchObject({
      env: { HOME: "/home/ann", KEY: "v" },
      cwd: "/work/here",
      home: "/home/ann",
      cacheDir: "/home/ann/.cache/rollout",
      platform: "linux",
      uid: 1000,
      pid: 4711,
      execPath: "/bin/node",
    });
  });

  test("the cache goes where XDG_CACHE_HOME says, unless that is empty", () => {
    expect(readHost(processLike({ HOME: "/h", XDG_CACHE_HOME: "/fast" })).cacheDir).toBe("/fast/rollout");
    expect(readHost(processLike({ HOME: "/h", XDG_CACHE_HOME: "" })).cacheDir).toBe("/h/.cache/rollout");
  });

  test("without HOME the home directory is the system's", () => {
    expect(readHost(processLike({})).home).toMatch(/^\//);
  });

  test("what changes in the process later does not change the facts", () => {
    const env: Record<string, string | undefined> = { HOME: "/h", KEY: "before" };
    const host = readHost(processLike(env));
    env["KEY"] = "after";
    expect(host.env["KEY"]).toBe("before");
  });

  test("a platform without user ids has none", () => {
    const { getuid: _getuid, ...rest } = processLike({ HOME: "/h" });
    expect(readHost(rest).uid).toBe(-1);
  });

  test("the machine has at least one cpu, some memory, a name and a boot", () => {
    const host = readHost(processLike({ HOME: "/h" }));
    expect(host.cpus).toBeGreaterThanOrEqual(1);
    expect(host.memoryBytes).toBeGreaterThan(0);
    expect(host.hostname).not.toBe("");
    expect(host.bootId).toMatch(/^[0-9a-f-]{36}$/);
  });
});
