import { execFileSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { join } from "node:path";

/** What a trial puts into its environment: before the agent, and before the verifier. */
export interface Archives {
  readonly solution: Buffer;
  readonly tests: Buffer;
}

/** Packs what a trial of the task needs, by way of a folder for what the task itself does not have. */
export function makeArchives(directory: string, taskDirectory: string): Archives {
  for (const path of ["app", "logs/agent", "logs/verifier"]) mkdirSync(join(directory, path), { recursive: true });
  const pack = (args: readonly string[]): Buffer => execFileSync("tar", ["-c", "--owner=0", "--group=0", ...args]);
  return {
    solution: pack([
      "-C",
      directory,
      "app",
      "logs",
      "-C",
      taskDirectory,
      "--transform=s,^solution,oracle,",
      "solution",
    ]),
    tests: pack(["-C", taskDirectory, "tests"]),
  };
}
