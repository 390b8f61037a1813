import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createRedactor } from "../../base/redactor.ts";
import { makeRoot } from "../testing/temp-files.ts";
import { trialPaths } from "./job-paths.ts";
import { setAside } from "./set-aside.ts";

test("R37: logs that a killed process had copied and not yet cleaned hold no secret once they are set aside", async () => {
  const paths = trialPaths(makeRoot(), "agent/tasks/one__1");
  mkdirSync(join(paths.logs, "agent"), { recursive: true });
  mkdirSync(join(paths.dir, ".transfer-x/0"), { recursive: true });
  writeFileSync(join(paths.logs, "agent/trace"), "key tell-nobody\n");
  writeFileSync(join(paths.dir, ".transfer-x/0/tell-nobody"), "tell-nobody");
  const earlier = await setAside(paths, createRedactor([{ name: "TOKEN", value: "tell-nobody" }]));
  expect(earlier).toMatchObject({ count: 1, result: null, lost: 1 });
  expect(readdirSync(paths.dir)).toEqual(["retries"]);
  expect(readFileSync(join(paths.retries, "1/logs/agent/trace"), "utf8")).toBe("key [redacted:TOKEN]\n");
  expect(readdirSync(join(paths.retries, "1"), { recursive: true }).join("\n")).not.toContain("tell-nobody");
});
