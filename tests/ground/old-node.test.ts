import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { describe, expect, test, type TestContext } from "vitest";
import { cannotRun, root } from "../e2e/rollout-cli.ts";

/** Runs the machine's own Node where that is older than the one Rollout asks for. */
function runOldNode(context: TestContext, ...args: string[]) {
  const asked = spawnSync("node", ["-p", "process.versions.node"], { encoding: "utf8" });
  const [major = 0, minor = 0] = (asked.stdout ?? "").split(".").map(Number);
  if (asked.status !== 0 || major > 24 || (major === 24 && minor >= 11))
    cannotRun(context, "the `node` of this machine is missing or new enough, so there is no old one to try");
  const { status, stdout, stderr } = spawnSync("node", args, { encoding: "utf8" });
  return { status, stdout, stderr };
}

describe("on a Node that is too old", () => {
  test("the command says in one line what it needs and exits with 2", (context) => {
    const { status, stdout, stderr } = runOldNode(context, join(root, "dist/bin.js"), "job.yaml");
    expect({ status, stdout }).toEqual({ status: 2, stdout: "" });
    expect(stderr).toMatch(/^rollout needs Node >= 24\.11; this is Node \d+\.\d+\.\d+\. .*\n$/);
    expect(stderr.trimEnd()).not.toContain("\n");
  });

  test("the command still knows its version", (context) => {
    expect(runOldNode(context, join(root, "dist/bin.js"), "--version")).toMatchObject({ status: 0, stderr: "" });
  });

  for (const door of ["jobs", "environments", "testing"]) {
    test(`importing rollout-eval/${door} throws an error that says what it needs`, (context) => {
      const script = `import(${JSON.stringify(join(root, "dist", `${door}.js`))}).catch((error) => console.log(error.message))`;
      const { status, stdout } = runOldNode(context, "-e", script);
      expect(status).toBe(0);
      expect(stdout).toMatch(/^rollout-eval needs Node >= 24\.11; this is Node \d+\.\d+\.\d+\n$/);
    });
  }
});
