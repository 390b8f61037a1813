import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { root } from "../e2e/rollout-cli.ts";

interface Packed {
  readonly filename: string;
  readonly files: readonly { readonly path: string; readonly mode: number }[];
}

let dir: string;
let packed: Packed;

// The Node that runs the tests comes first, as it does for somebody who installed it.
const env = {
  ...process.env,
  PATH: `${dirname(process.execPath)}:${process.env["PATH"]}`,
  npm_config_update_notifier: "false",
};

function run(program: string, args: readonly string[]): string {
  return execFileSync(program, args, { cwd: join(dir, "consumer"), env, encoding: "utf8", stdio: "pipe" });
}

beforeAll(() => {
  dir = realpathSync(mkdtempSync(join(tmpdir(), "rollout-package-")));
  // Without its scripts, because a build here would take dist/ away from the other tests.
  const pack = ["pack", "--ignore-scripts", "--json", "--pack-destination", dir];
  const answer = JSON.parse(execFileSync("npm", pack, { cwd: root, env, encoding: "utf8", stdio: "pipe" })) as
    | Packed[]
    | Record<string, Packed>;
  const [first] = Object.values(answer);
  if (!first) throw new Error("npm packed nothing");
  packed = first;
  mkdirSync(join(dir, "consumer"));
  writeFileSync(join(dir, "consumer", "package.json"), '{ "name": "consumer", "type": "module", "private": true }\n');
  run("npm", ["install", "--ignore-scripts", "--offline", "--no-audit", "--no-fund", join(dir, packed.filename)]);
});

afterAll(() => rmSync(dir, { recursive: true, force: true }));

describe("the package", () => {
  test("holds what is needed to use it and nothing that is only needed to make it", () => {
    const paths = packed.files.map((file) => file.path);
    for (const needed of [
      "package.json",
      "README.md",
      "LICENSE",
      "CHANGELOG.md",
      "SPEC.md",
      "dist/bin.js",
      "dist/main.js",
      "dist/jobs.js",
      "dist/environments.js",
      "dist/scorers.js",
      "dist/testing.js",
      "dist/types/public/jobs.d.ts",
      "dist/THIRD-PARTY-LICENSES.txt",
      "schemas/job.schema.json",
      "schemas/task.schema.json",
      "schemas/executor/task-answer.schema.json",
      "dist/experiments.js",
      "dist/experiment-executor.js",
      "sdk/python/src/rollout_eval/__main__.py",
    ])
      expect(paths).toContain(needed);
    const roots = /^(dist|schemas|sdk\/python\/src)\/|^(package\.json|README\.md|LICENSE|CHANGELOG\.md|SPEC\.md)$/;
    expect(paths.filter((path) => !roots.test(path))).toEqual([]);
    expect(paths.filter((path) => /\.test\.|fixtures|(^|\/)tests?\/|\.tsbuildinfo$|\.map$/.test(path))).toEqual([]);
    expect(paths.filter((path) => path.endsWith(".ts") && !path.endsWith(".d.ts"))).toEqual([]);
    const bin = packed.files.find((file) => file.path === "dist/bin.js");
    expect((bin?.mode ?? 0) & 0o111).toBe(0o111);
  });

  test("names no place of the machine that built it", () => {
    for (const { path } of packed.files) {
      const text = readFileSync(join(dir, "consumer/node_modules/rollout-eval", path), "utf8");
      expect(text.includes(root), `${path} names ${root}`).toBe(false);
    }
  });

  test("installs without any other package and gives the command", () => {
    const { dependencies = {} } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
      dependencies?: Record<string, string>;
      version: string;
    };
    expect(dependencies).toEqual({});
    expect(run("ls", ["node_modules"]).trim()).toBe("rollout-eval");
    const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { version: string };
    expect(run("npx", ["--no-install", "rollout", "--version"])).toBe(`${version}\n`);
    run("npx", ["--no-install", "rollout", "init", "job"]);
    const job = readFileSync(join(dir, "consumer", "job.yaml"), "utf8");
    expect(job).toContain("$schema=./node_modules/rollout-eval/schemas/job.schema.json");
  });

  test("can be imported by each of its doors and runs a job in code", () => {
    writeFileSync(
      join(dir, "consumer", "use.js"),
      `import { mkdirSync, writeFileSync } from "node:fs";
import { readJob, RolloutError, runJob } from "rollout-eval/jobs";
import { loadProviderModule, RolloutError as SameError } from "rollout-eval/environments";
import { jsonSchema } from "rollout-eval/scorers";
import { conformanceCases, createMemoryProvider, FakeClock, moduleOf } from "rollout-eval/testing";

mkdirSync("task/tests", { recursive: true });
for (const [file, text] of Object.entries({ "task.toml": 'version = "1.0"', "instruction.md": "Say hi.", "tests/test.sh": "" }))
  writeFileSync("task/" + file, text);
const handler = ({ files, command }) => {
  if (command[1] === "/tests/test.sh") files.write("/logs/verifier/reward.txt", "1");
  return 0;
};
const run = await runJob(
  { name: "in-code", agents: [{ name: "nop" }], datasets: [{ tasks: ["task"] }], environment: { type: "mine" } },
  { environments: { mine: moduleOf(createMemoryProvider({ handler })) } },
);
const { hasEnded } = await readJob(run.dir);
const refusal = await runJob({ agents: [], datasets: [] }).catch((error) => error);
console.log(JSON.stringify({
  reward: run.result.mean_reward,
  hasEnded,
  refused: refusal instanceof RolloutError && refusal instanceof SameError ? refusal.code : String(refusal),
  memory: (await loadProviderModule("memory", ".")).name,
  cases: conformanceCases.length > 10,
  clock: typeof new FakeClock().now(),
  score: (await jsonSchema({ schema: { type: "number" } }).run({ output: "1", error: null })).score,
}));
`,
    );
    expect(JSON.parse(run(process.execPath, ["use.js"]))).toEqual({
      reward: 1,
      hasEnded: true,
      refused: "config_invalid",
      memory: "memory",
      cases: true,
      clock: "number",
      score: 1,
    });
  });

  test("hides its inside", () => {
    const script = 'import("rollout-eval/dist/main.js").catch((error) => console.log(error.code))';
    expect(run(process.execPath, ["-e", script])).toBe("ERR_PACKAGE_PATH_NOT_EXPORTED\n");
  });

  test("brings types that hold under the strictest reading, its own declarations included", () => {
    writeFileSync(
      join(dir, "consumer", "consumer.ts"),
      `import { runJob, readJob, loadTask, RolloutError, type JobRun, type RunEvent } from "rollout-eval/jobs";
import { loadProviderModule, type Environment, type EnvironmentProvider, type ProviderModule } from "rollout-eval/environments";
import { exact, judge, macroF1, type DatasetScorer, type Scorer } from "rollout-eval/scorers";
import { createMemoryProvider, moduleOf, type MemoryHandler } from "rollout-eval/testing";

export const scorers: (Scorer | DatasetScorer)[] = [exact({ trim: true }), judge({ ask: () => "pass", criteria: "" }), macroF1()];
const handler: MemoryHandler = async (call) => {
  await call.stdout(call.command.join(" "));
  return 0;
};
const provider: EnvironmentProvider = createMemoryProvider({ handler });
const mine: ProviderModule = moduleOf(provider);
export async function use(events: RunEvent[]): Promise<JobRun> {
  const run = await runJob("job.yaml", { environments: { mine }, onEvent: (event) => events.push(event) });
  const rate: number | null = (await readJob(run.dir)).result.pass_rate;
  const task = await loadTask("tasks/a");
  if (task.status === "broken") throw new RolloutError("not_found", task.message + String(rate));
  const other: ProviderModule = await loadProviderModule("memory", task.directory);
  const closed: (environment: Environment) => Promise<void> = (environment) => environment.destroy(AbortSignal.abort());
  return other === mine ? run : { ...run, leftBehind: [closed.name] };
}
// @ts-expect-error a handler answers with an exit code
export const wrong: MemoryHandler = () => "0";
`,
    );
    writeFileSync(
      join(dir, "consumer", "tsconfig.json"),
      JSON.stringify({
        compilerOptions: {
          target: "es2024",
          lib: ["esnext"],
          module: "nodenext",
          moduleResolution: "nodenext",
          strict: true,
          exactOptionalPropertyTypes: true,
          noUncheckedIndexedAccess: true,
          skipLibCheck: false,
          noEmit: true,
          types: ["node"],
          typeRoots: [join(root, "node_modules/@types")],
        },
        files: ["consumer.ts"],
      }),
    );
    const tsc = join(root, "node_modules/typescript/bin/tsc");
    const { signal, stdout } = spawnSync(process.execPath, [tsc, "-p", "tsconfig.json"], {
      cwd: join(dir, "consumer"),
      encoding: "utf8",
    });
    const complaints = stdout.split("\n").filter((line) => line !== "");
    expect(complaints).toEqual([]);
    expect(signal).toBeNull();
  });
});

test("the lock file names no address that packages were fetched from", () => {
  const lock = readFileSync(join(root, "package-lock.json"), "utf8");
  expect(lock).not.toContain('"resolved"');
  expect(lock).toContain('"integrity"');
});
