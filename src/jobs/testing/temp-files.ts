import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { onTestFinished } from "vitest";

export interface TaskSpec {
  /** The text of task.toml. */
  readonly toml?: string;
  /** Files beside the usual ones; null leaves a usual one out. */
  readonly files?: Readonly<Record<string, string | null>>;
}

/** A temporary directory that is gone when the test is over. */
export function makeRoot(): string {
  const root = mkdtempSync(join(tmpdir(), "rollout-job-"));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  return root;
}

/** Writes a task directory with everything a task needs. */
export function writeTask(directory: string, { toml = 'version = "1.0"\n', files = {} }: TaskSpec = {}): void {
  const usual = {
    "task.toml": toml,
    "instruction.md": "Do it.\n",
    "tests/test.sh": "echo 1 > /logs/verifier/reward.txt\n",
  };
  for (const [path, content] of Object.entries({ ...usual, ...files })) {
    if (content === null) continue;
    mkdirSync(dirname(join(directory, path)), { recursive: true });
    writeFileSync(join(directory, path), content);
  }
}

/** Every file below a directory, relative to it and sorted. */
export function listFiles(directory: string): string[] {
  const entries = readdirSync(directory, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => !entry.isDirectory());
  return files.map((entry) => join(entry.parentPath, entry.name).slice(directory.length + 1)).sort();
}
