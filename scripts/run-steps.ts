import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";

export interface Step {
  readonly name: string;
  readonly command: readonly string[];
}

/** The file behind a dependency's command. */
export function tool(name: string, command = name): string {
  const manifest = join("node_modules", name, "package.json");
  const { bin } = JSON.parse(readFileSync(manifest, "utf8")) as { bin: string | Record<string, string> };
  const file = typeof bin === "string" ? bin : bin[command];
  if (file === undefined) throw new Error(`${name} has no command ${command}`);
  return join(dirname(manifest), file);
}

/** Runs steps one after the other and stops at the first that fails, with what it printed. */
export async function runSteps(steps: readonly Step[]): Promise<void> {
  for (const { name, command } of steps) {
    const [program = "", ...args] = command;
    const from = performance.now();
    const done = spawnSync(program, args, { encoding: "utf8", maxBuffer: 1 << 28 });
    const seconds = ((performance.now() - from) / 1000).toFixed(1);
    if (done.status !== 0) {
      process.stdout.write(`${done.stdout}${done.stderr}\n${name}: failed after ${seconds} s\n`);
      process.exit(1);
    }
    process.stdout.write(`${name}: ok (${seconds} s)\n`);
  }
}
