import { mkdir } from "node:fs/promises";
import { dirname } from "node:path";
import { existsSync } from "node:fs";
import { isDiskFull, messageOf, RolloutError, systemCodeOf } from "./rollout-error.ts";

/**
 * Makes a directory that a person named, with all above it; throws what they can act on. One level at a time: Node's own
 * recursion never ends where a file system says of a child that its parent is not there.
 */
export async function makeDirectory(path: string): Promise<void> {
  try {
    await make(path);
  } catch (error) {
    throw new RolloutError(
      isDiskFull(error) ? "io_failed" : "usage_invalid",
      `the directory ${path} cannot be made: ${messageOf(error)}`,
      {
        hint: "choose another one",
        cause: error,
      },
    );
  }
}

async function make(path: string): Promise<void> {
  try {
    await mkdir(path);
  } catch (error) {
    const code = systemCodeOf(error);
    if (code === "EEXIST") return;
    if (code !== "ENOENT" || existsSync(dirname(path))) throw error;
    await make(dirname(path));
    await mkdir(path);
  }
}
