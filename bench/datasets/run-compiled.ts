import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { rolldown } from "rolldown";
import { runContender, type Order } from "./contender.ts";

/** Runs a program of ours as JavaScript, which is how people have the library: taking types off as it starts costs 40 MB. */
export async function runCompiled<Answer>(program: string, order: Omit<Order, "directory">): Promise<Answer> {
  const directory = mkdtempSync(join(tmpdir(), "rollout-bench-"));
  try {
    const file = join(directory, `${program}.mjs`);
    const bundle = await rolldown({ input: join(import.meta.dirname, `${program}.ts`), platform: "node" });
    await bundle.write({ file, format: "esm", codeSplitting: false });
    await bundle.close();
    return await runContender<Answer>(file, order);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}
