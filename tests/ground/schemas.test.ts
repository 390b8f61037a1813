import { spawnSync } from "node:child_process";
import { globSync, readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parse as parseToml } from "smol-toml";
import { describe, expect, onTestFinished, test } from "vitest";
import { parse as parseYaml } from "yaml";
import { z } from "zod";
import { root } from "../e2e/rollout-cli.ts";

function readSchema(name: string): z.ZodType {
  return z.fromJSONSchema(
    JSON.parse(readFileSync(join(root, "schemas", name), "utf8")) as Parameters<typeof z.fromJSONSchema>[0],
  );
}

function find(pattern: string): string[] {
  return globSync(pattern, { cwd: root }).map((file) => join(root, file));
}

describe("the schemas for editors", () => {
  test("are what the source says", () => {
    const { status, stderr } = spawnSync(process.execPath, ["scripts/schemas.ts", "--check"], {
      cwd: root,
      encoding: "utf8",
    });
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
  });

  test("are told to be stale where they are, and are written anew on demand", async () => {
    const dir = await mkdtemp(join(tmpdir(), "rollout-schemas-"));
    onTestFinished(() => rm(dir, { recursive: true, force: true }));
    const run = (...args: string[]) =>
      spawnSync(process.execPath, [join(root, "scripts/schemas.ts"), ...args], { cwd: dir, encoding: "utf8" });
    const stale = run("--check");
    expect(stale.status).toBe(1);
    expect(stale.stderr).toContain("schemas/job.schema.json is not what the source says");
    expect(run().status).toBe(0);
    expect(run("--check").status).toBe(0);
    for (const name of globSync("**/*.json", { cwd: join(root, "schemas") })) {
      expect(readFileSync(join(dir, "schemas", name), "utf8")).toBe(readFileSync(join(root, "schemas", name), "utf8"));
    }
  });

  test("accept every job of the examples, and refuse a mistyped key", () => {
    const schema = readSchema("job.schema.json");
    const files = find("examples/**/job.yaml");
    expect(files.length).toBeGreaterThan(0);
    for (const file of files) {
      const job = parseYaml(readFileSync(file, "utf8")) as Record<string, unknown>;
      expect(schema.safeParse(job)).toMatchObject({ success: true });
      expect(schema.safeParse({ ...job, n_atempts: 1 })).toMatchObject({ success: false });
    }
  });

  test("accept every task of the examples, and refuse a timeout that is no number", () => {
    const schema = readSchema("task.schema.json");
    const files = find("examples/**/task.toml");
    expect(files.length).toBeGreaterThan(2);
    for (const file of files) {
      const task = parseToml(readFileSync(file, "utf8"));
      expect(schema.safeParse(task)).toMatchObject({ success: true });
      expect(schema.safeParse({ ...task, agent: { timeout_sec: "soon" } })).toMatchObject({ success: false });
    }
  });
});
