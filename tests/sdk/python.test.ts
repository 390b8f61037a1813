import { spawn } from "node:child_process";
import { cp, mkdtemp, rm, writeFile } from "node:fs/promises";
import { globSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test, type TestContext } from "vitest";
import { cannotRun } from "../e2e/rollout-cli.ts";
import { findPython, sdkHome } from "./find-python.ts";

const found = findPython();
const limitMs = 600_000;

/** A copy of the SDK, so that no test leaves anything in the checkout. */
async function copySdk(context: TestContext): Promise<{ readonly home: string; readonly python: string }> {
  if ("why" in found) cannotRun(context, found.why);
  const directory = await mkdtemp(join(tmpdir(), "rollout-sdk-"));
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  const home = join(directory, "python");
  await cp(sdkHome, home, { recursive: true, filter: (path) => !/[\\/](?:__pycache__|\.\w+_cache|dist)$/.test(path) });
  return { home, python: found.python };
}

async function run(command: string, args: readonly string[], cwd: string, input = ""): Promise<string> {
  const child = spawn(command, args, { cwd, stdio: "pipe" });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding("utf8").on("data", (text) => (output += text));
  child.stdin.end(input);
  const status = await new Promise((resolve) => child.on("close", resolve));
  expect(status, output).toBe(0);
  return output;
}

test("the Python SDK passes its own tests", { timeout: limitMs }, async (context) => {
  const { home, python } = await copySdk(context);
  expect(await run(python, ["-m", "pytest", "-q"], home)).toMatch(/\d+ passed/);
});

test("the Python SDK is strictly typed, and clean", { timeout: limitMs }, async (context) => {
  const { home, python } = await copySdk(context);
  await run(python, ["-m", "mypy", "--strict"], home);
  await run(python, ["-m", "ruff", "check", "."], home);
  await run(python, ["-m", "ruff", "format", "--check", "."], home);
});

test("the wheel of the Python SDK builds, installs and answers", { timeout: limitMs }, async (context) => {
  const { home, python } = await copySdk(context);
  // With the build backend that is installed: nothing is fetched.
  await run(python, ["-m", "build", "--wheel", "--no-isolation"], home);
  const [wheel = ""] = globSync("dist/*.whl", { cwd: home });
  expect(wheel).toMatch(/rollout_eval-.*-py3-none-any\.whl$/);
  await run(python, ["-m", "venv", "venv"], home);
  await run(join(home, "venv/bin/python"), ["-m", "pip", "install", "--quiet", "--no-index", wheel], home);
  const file = join(home, "experiment.py");
  await writeFile(file, experiment);
  const answers = await run(join(home, "venv/bin/rollout-executor"), [file], tmpdir(), '{"cmd":"discover"}\n');
  expect(JSON.parse(answers)).toMatchObject({ name: "experiment", task: "echo", evaluators: [] });
});

const experiment = "from rollout_eval import task\n\n@task\ndef echo(input):\n    return input\n";
