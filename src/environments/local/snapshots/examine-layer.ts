import { join } from "node:path";
import { RolloutError } from "../../../base/rollout-error.ts";
import { decodeTar } from "../../archive/decode-tar.ts";
import { assertReadableName, bodyOf } from "../../archive/examined-entry.ts";
import type { TreeEntry } from "../../archive/tree-entry.ts";
import type { SnapshotRequest } from "../../environment.ts";
import { partPath } from "../base-system.ts";
import type { LocalGround } from "../local-ground.ts";
import { startAsOwner } from "./owner-process.ts";

/** Shows everything in the folder of a layer; false when something was refused. */
export async function examineLayer(
  ground: LocalGround,
  folder: string,
  { examine, signal }: Pick<SnapshotRequest, "examine" | "signal">,
): Promise<boolean> {
  const { talk, output } = await startAsOwner(
    ground,
    ["tar", "-c", "--format=gnu", "-f", "-", "--", "."],
    folder,
    signal,
  );
  const onAbort = (): void => talk.abandon();
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    for await (const entry of decodeTar(output)) {
      if (!(await examine({ path: pathOf(entry), body: bodyOf(entry) }))) return false;
    }
    output.resume();
    const { exitCode } = await talk.over;
    if (exitCode !== 0) throw new RolloutError("copy_failed", `tar ended with ${exitCode}`);
    return true;
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  } finally {
    signal.removeEventListener("abort", onAbort);
    talk.abandon();
    output.destroy();
    await talk.program.ended;
  }
}

function pathOf({ path }: TreeEntry): string {
  assertReadableName(path);
  const [, part = "_", rest = ""] = /^\.\/([^/]+)\/?(.*)$/s.exec(path) ?? [];
  return join("/", partPath(part), rest);
}
