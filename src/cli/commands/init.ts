import { existsSync } from "node:fs";
import { chmod, mkdir, writeFile } from "node:fs/promises";
import { basename, dirname, join, relative, resolve } from "node:path";
import { RolloutError } from "../../base/rollout-error.ts";
import { shellWord } from "../../base/shown-path.ts";
import type { CliContext } from "../cli-context.ts";
import { exitCodes } from "../exit-codes.ts";

/** `rollout init task`: writes a task that the oracle passes and nop fails. */
export async function initTaskCommand(directory: string, { host, terminal, packageDir }: CliContext): Promise<number> {
  const dir = resolve(host.cwd, directory);
  if (existsSync(dir))
    throw new RolloutError("already_exists", `${directory} already exists`, {
      hint: "name a directory that is not there yet",
    });
  for (const [path, content] of Object.entries(taskFiles(dir, packageDir))) {
    const file = join(dir, path);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, content);
    if (path.endsWith(".sh")) await chmod(file, 0o755);
  }
  terminal.out(
    `${directory} is a task with an instruction, an environment, tests and a solution.\n\nNext:\n  rollout validate ${shellWord(directory)}\n  rollout run --environment local --agent oracle ${shellWord(directory)}\n`,
  );
  return exitCodes.done;
}

/** `rollout init job`: writes a job file with the common keys. */
export async function initJobCommand(file: string, { host, terminal, packageDir }: CliContext): Promise<number> {
  const path = resolve(host.cwd, file);
  if (existsSync(path))
    throw new RolloutError("already_exists", `${file} already exists`, {
      hint: "name a file that is not there yet: rollout init job other.yaml",
    });
  if (!/\.ya?ml$/.test(file)) throw new RolloutError("usage_invalid", `${file} should end in .yaml`);
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, jobFile(dirname(path), packageDir));
  terminal.out(
    `${file} is a job with two agents.\n\nNext:\n  rollout init task ${shellWord(join(dirname(file), "tasks/my-task"))}\n  rollout validate ${shellWord(file)}\n  rollout ${shellWord(file)}\n`,
  );
  return exitCodes.done;
}

function jobFile(dir: string, packageDir: string): string {
  return `# yaml-language-server: $schema=${schemaReference("job.schema.json", dir, packageDir)}
name: my-job # the output directory; leave it out to have one made from the time
n_attempts: 1 # per agent and task
n_concurrent_trials: 4

environment:
  type: local # a sandbox of this machine for every trial; no container engine is needed
  preserve_env: never # on_failure keeps the environments of failed trials for a look inside

agents:
  - name: oracle # runs each task's own solution: shows that the tasks can be solved
  - name: my-agent
    install: |
      echo "install your agent here"
    execute: |
      cat "$ROLLOUT_TASK_INSTRUCTION"
    # env:
    #   MY_API_KEY: \${MY_API_KEY} # from your shell; never written to disk

datasets:
  - path: ./tasks # a directory of tasks
`;
}

function taskFiles(dir: string, packageDir: string): Record<string, string> {
  return {
    "task.toml": `#:schema ${schemaReference("task.schema.json", dir, packageDir)}
version = "1.0"

[metadata]
difficulty = "easy"
category = "files"
tags = ["example"]

[agent]
timeout_sec = 120.0

[verifier]
timeout_sec = 60.0

[environment]
cpus = "1"
memory = "2G"
storage = "10G" # where the environment can limit it
`,
    "instruction.md": `# ${basename(dir)}\n\nWrite the word \`hello\` to the file \`/app/greeting.txt\`.\n`,
    "environment/Dockerfile": `FROM debian:bookworm-slim\nWORKDIR /app\n`,
    "solution/solve.sh": `#!/bin/bash\nset -euo pipefail\n\necho hello > /app/greeting.txt\n`,
    "tests/test.sh": `#!/bin/bash\n\n# Must write one number to /logs/verifier/reward.txt and exit with 0.\nif [ "$(cat /app/greeting.txt 2>/dev/null)" = "hello" ]; then\n  echo 1 > /logs/verifier/reward.txt\nelse\n  echo 0 > /logs/verifier/reward.txt\nfi\n`,
  };
}

// Relative where the package lies in the same project, so that the file can be shared; absolute elsewhere.
function schemaReference(name: string, from: string, packageDir: string): string {
  const schema = join(packageDir, "schemas", name);
  const path = relative(from, schema);
  if (!path.includes("node_modules") || path.split("../").length > 5) return schema;
  return path.startsWith(".") ? path : `./${path}`;
}
