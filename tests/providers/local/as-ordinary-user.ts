import { execFile, spawnSync } from "node:child_process";
import { chmodSync, copyFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { rolldown } from "rolldown";

const userName = "rollout-test";

/** Why nothing can be run as an ordinary user here; null when it can. */
export function whyNoOrdinaryUser(): string | null {
  if (process.platform !== "linux") return "needs Linux";
  if (process.getuid?.() !== 0) return null;
  if (spawnSync("id", [userName]).status === 0) return null;
  const made = spawnSync("useradd", ["--create-home", userName], { encoding: "utf8" });
  return made.status === 0 ? null : `no test user could be made: ${made.error?.message ?? made.stderr}`;
}

/** A program of the tests, bundled so that a user without access to this checkout can run it. */
export interface UserProgram extends Disposable {
  /** Runs it and gives what it printed. */
  run(...args: string[]): Promise<string>;
}

/** Prepares a program to be run as an ordinary user; when the tests are one themselves, as that one. */
export async function bundleForUser(file: string): Promise<UserProgram> {
  const directory = mkdtempSync(join(tmpdir(), "rollout-user-program-"));
  chmodSync(directory, 0o755);
  const bundle = await rolldown({ input: file, platform: "node" });
  const program = join(directory, "program.mjs");
  await bundle.write({ file: program, format: "esm", codeSplitting: false });
  await bundle.close();
  const node = join(directory, "node");
  copyFileSync(process.execPath, node);
  chmodSync(node, 0o755);
  const words = process.getuid?.() === 0 ? ["runuser", "-u", userName, "--", node] : [node];
  return {
    async run(...args) {
      const [command = "", ...rest] = [...words, program, ...args];
      const env = { PATH: process.env["PATH"], HOME: directory };
      const { stdout } = await promisify(execFile)(command, rest, { cwd: "/", env, maxBuffer: 1 << 28 });
      return stdout;
    },
    [Symbol.dispose]() {
      rmSync(directory, { recursive: true, force: true });
    },
  };
}
