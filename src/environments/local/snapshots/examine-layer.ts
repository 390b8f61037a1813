import { join } from "node:path";
import { RolloutError } from "../../../base/rollout-error.ts";
import { decodeTar } from "../../archive/decode-tar.ts";
import type { TreeEntry } from "../../archive/tree-entry.ts";
import type { SnapshotFile, SnapshotRequest } from "../../environment.ts";
import { partPath } from "../base-system.ts";
import type { LocalGround } from "../local-ground.ts";
import { waitForExit } from "../mapped-process.ts";
import { startAsOwner } from "./owner-process.ts";

/** Shows everything in the folder of a layer; false when something was refused. */
export async function examineLayer(
  ground: LocalGround,
  folder: string,
  { examine, signal }: Pick<SnapshotRequest, "examine" | "signal">,
): Promise<boolean> {
  const child = await startAsOwner(ground, ["tar", "-c", "--format=gnu", "-f", "-", "--", "."], folder, signal);
  child.stderr?.resume();
  const ended = waitForExit(child);
  const onAbort = (): void => void child.kill("SIGKILL");
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    if (child.stdout === null) throw new Error("the archive has no stream");
    for await (const entry of decodeTar(child.stdout)) {
      if (!(await examine({ path: pathOf(entry), body: bodyOf(entry) }))) return false;
    }
    child.stdout.resume();
    const code = await ended;
    if (code !== 0) throw new RolloutError("copy_failed", `tar ended with ${code}`);
    return true;
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  } finally {
    signal.removeEventListener("abort", onAbort);
    child.kill("SIGKILL");
    await ended;
  }
}

function pathOf({ path }: TreeEntry): string {
  if (path.includes("\uFFFD"))
    throw new RolloutError(
      "unsupported",
      `the name of ${JSON.stringify(path)} is not UTF-8, so it cannot be looked at`,
    );
  const [, part = "_", rest = ""] = /^\.\/([^/]+)\/?(.*)$/s.exec(path) ?? [];
  return join("/", partPath(part), rest);
}

function bodyOf(entry: TreeEntry): SnapshotFile["body"] {
  if (entry.type === "file") return entry.body;
  return entry.type === "symlink" ? [Buffer.from(entry.linkTarget)] : [];
}
