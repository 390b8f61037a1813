import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const solveScript = "echo hello >/tmp/hello.txt\n";

const testScript =
  'reward=0\nread -r text </tmp/hello.txt && [ "$text" = hello ] && reward=1\necho "$reward" >/logs/verifier/reward.txt\n';

/** The instruction of the trivial task. */
export const instruction = "Write hello to /tmp/hello.txt.\n";

/** Writes the cheapest task that still does everything: a solution writes a file, a test reads it and gives the reward. */
export function writeTrivialTask(dataset: string, dockerImage = ""): string {
  const directory = join(dataset, "trivial");
  for (const [path, text] of Object.entries({
    "task.toml": `version = "1.0"\n[environment]\ndocker_image = "${dockerImage}"\n`,
    "instruction.md": instruction,
    "solution/solve.sh": solveScript,
    "tests/test.sh": testScript,
  })) {
    const file = join(directory, path);
    mkdirSync(join(file, ".."), { recursive: true });
    writeFileSync(file, text);
    chmodSync(file, 0o755);
  }
  return directory;
}
