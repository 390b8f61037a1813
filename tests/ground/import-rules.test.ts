import { spawnSync } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { root } from "../e2e/rollout-cli.ts";

function check(srcDir: string): { status: number | null; stderr: string } {
  const { status, stderr } = spawnSync(process.execPath, ["scripts/check-imports.ts", srcDir], {
    cwd: root,
    encoding: "utf8",
  });
  return { status, stderr };
}

/** A source directory with the given files, and a file beside it. */
async function makeTree(files: Readonly<Record<string, string>>): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), "rollout-imports-"));
  onTestFinished(() => rm(dir, { recursive: true, force: true }));
  await writeFile(join(dir, "outside.ts"), "export const x = 1;\n");
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(dir, "src", path)), { recursive: true });
    await writeFile(join(dir, "src", path), text);
  }
  return join(dir, "src");
}

// Every file the samples below import.
const targets = [
  "base/clock.ts",
  "engine/window.ts",
  "report/summary.ts",
  "datasets/run.ts",
  "jobs/run-job.ts",
  "environments/environment.ts",
  "environments/registry.ts",
  "environments/docker/docker-environment.ts",
  "environments/memory/memory-environment.ts",
  "environments/archive/read-tree.ts",
  "store/sqlite/sqlite-store.ts",
  "store/run.ts",
  "cli/main.ts",
];
const house = Object.fromEntries(targets.map((path) => [path, "export const x = 1;\n"]));

const imports = (target: string): string => `import { x } from "${target}";\nexport const y = x;\n`;

const violations: Readonly<Record<string, readonly [file: string, text: string, says: string]>> = {
  "a tool that looks into a door": ["engine/bad.ts", imports("../jobs/run-job.ts"), "engine may not import jobs"],
  "the ground that looks up": ["base/bad.ts", imports("../engine/window.ts"), "base may not import engine"],
  "a door that looks into another": ["jobs/bad.ts", imports("../datasets/run.ts"), "jobs may not import datasets"],
  "a door that looks into the command": ["jobs/bad.ts", imports("../cli/main.ts"), "jobs may not import cli"],
  "a socket that looks into a door": ["report/bad.ts", imports("../jobs/run-job.ts"), "report may not import jobs"],
  "a door that names an adapter": [
    "jobs/bad.ts",
    imports("../environments/docker/docker-environment.ts"),
    "jobs may only import the contract of environments",
  ],
  "a door that asks the registry": [
    "jobs/deep/down/bad.ts",
    imports("../../../environments/registry.ts"),
    "jobs may only import the contract of environments",
  ],
  "a door that names a store": [
    "datasets/bad.ts",
    imports("../store/sqlite/sqlite-store.ts"),
    "only import the contract of store",
  ],
  "an adapter that looks into another": [
    "environments/docker/bad.ts",
    imports("../memory/memory-environment.ts"),
    "only registry.ts may name the adapter memory",
  ],
  "a dynamic import": [
    "engine/bad.ts",
    'export const y = import("../jobs/run-job.ts");\n',
    "engine may not import jobs",
  ],
  "a re-export": ["engine/bad.ts", 'export * from "../jobs/run-job.ts";\n', "engine may not import jobs"],
  "a re-export of names": ["engine/bad.ts", 'export { x } from "../jobs/run-job.ts";\n', "engine may not import jobs"],
  "a type-only import": [
    "engine/bad.ts",
    'import type { x } from "../jobs/run-job.ts";\nexport type Y = typeof x;\n',
    "engine may not import jobs",
  ],
  "an import that spans lines": [
    "engine/bad.ts",
    'import {\n  x,\n} from "../jobs/run-job.ts";\nexport const y = x;\n',
    "engine may not import jobs",
  ],
  "an import from outside the source": ["jobs/bad.ts", imports("../../outside.ts"), "outside the source"],
  "a room that is not in the plan": ["attic/bad.ts", "export const y = 1;\n", '"attic" is not a room of the plan'],
  "a tool that reads the environment of the process": [
    "engine/bad.ts",
    "export const y = process.env;\n",
    "reads the process",
  ],
  "a door that listens to signals": [
    "jobs/bad.ts",
    'process.on("SIGINT", () => {});\nexport {};\n',
    "reads the process",
  ],
};

describe("the import rules", () => {
  test("hold in the source", () => {
    expect(check("src")).toEqual({ status: 0, stderr: "" });
  });

  for (const [title, [file, text, says]] of Object.entries(violations)) {
    test(`refuse ${title}, and name the file`, async () => {
      const dir = await makeTree({ ...house, [file]: text });
      const { status, stderr } = check(dir);
      expect(status).toBe(1);
      expect(stderr.trimEnd().split("\n")).toHaveLength(1);
      expect(stderr).toContain(`${dir}/${file}: `);
      expect(stderr).toContain(says);
    });
  }

  const allowed: Readonly<Record<string, readonly [file: string, text: string]>> = {
    "a door that uses a contract": ["jobs/good.ts", imports("../environments/environment.ts")],
    "an adapter that uses what its room shares": ["environments/docker/good.ts", imports("../archive/read-tree.ts")],
    "the registry that names an adapter": [
      "environments/registry.ts",
      'export const x = () => import("./docker/docker-environment.ts");\n',
    ],
    "the command that builds everything": ["cli/good.ts", imports("../environments/registry.ts")],
    "the command that reads the process": ["cli/good.ts", "export const y = process.env;\n"],
    "a test of a door that uses an adapter": [
      "jobs/good.test.ts",
      imports("../environments/memory/memory-environment.ts"),
    ],
    "a word in a comment or a string": [
      "engine/good.ts",
      '// import { x } from "../jobs/run-job.ts"\nexport const y = \'import "../jobs/run-job.ts"\';\n',
    ],
  };
  for (const [title, [file, text]] of Object.entries(allowed)) {
    test(`allow ${title}`, async () => {
      expect(check(await makeTree({ ...house, [file]: text }))).toEqual({ status: 0, stderr: "" });
    });
  }

  test("refuse an import of a file that is not there", async () => {
    const dir = await makeTree({ ...house, "jobs/bad.ts": imports("./gone.ts") });
    const { status, stderr } = check(dir);
    expect(status).toBe(1);
    expect(stderr).toContain("jobs/bad.ts imports ./gone.ts, which does not exist");
  });
});
