import { PassThrough } from "node:stream";
import { posix } from "node:path";
import { RolloutError } from "../../base/rollout-error.ts";
import { decodeTar } from "../archive/decode-tar.ts";
import { stripRoot } from "../archive/strip-root.ts";
import type { TreeEntry } from "../archive/tree-entry.ts";
import { mostWastedBytes, writeTree } from "../archive/write-tree.ts";
import type { CopyFromRequest, CopyReport } from "../environment.ts";
import type { CommandRunner } from "./command-runner.ts";
import { toolWords } from "./toolbox.ts";
import { writeHeld } from "./write-held.ts";

/** Copies something out of a sandbox by way of an archive that is written inside and trusted in nothing. */
export async function copyOut(runner: CommandRunner, request: CopyFromRequest): Promise<CopyReport> {
  const { source, target, renames, limits, signal } = request;
  const path = posix.resolve("/", source);
  const [parent, name] = path === "/" ? ["/", "."] : [posix.dirname(path), posix.basename(path)];
  const gaveUp = new AbortController();
  const archive = new PassThrough({ highWaterMark: 1 << 20 });
  // The reader may end before the writer does.
  archive.on("error", () => {});
  const writing = runner
    .run({
      command: [...toolWords("tar"), "-c", "--format=gnu", "--warning=none", "-C", parent, "-f", "-", "--", name],
      env: { PATH: "", LC_ALL: "C" },
      cwd: "/",
      user: null,
      stdout: { write: (chunk) => writeHeld(archive, Buffer.from(chunk)) },
      stderr: { write: () => {} },
      signal: AbortSignal.any([signal, gaveUp.signal]),
    })
    .finally(() => archive.end());
  writing.catch(() => {});
  let count = 0;
  async function* entries(): AsyncGenerator<TreeEntry> {
    for await (const entry of decodeTar(archive)) {
      count++;
      yield stripRoot(entry, name);
    }
  }
  try {
    const report = await writeTree(entries(), target, { signal, renames, limits, mostWastedBytes });
    // Whoever writes on for nothing is told to stop.
    if (report.isCut) gaveUp.abort(new Error("enough was copied"));
    await writing.catch((error: unknown) => {
      if (!report.isCut || signal.aborted) throw error;
    });
    return report;
  } catch (error) {
    gaveUp.abort(error);
    await writing.catch(() => {});
    signal.throwIfAborted();
    // tar ends without a single entry when there is nothing of that name.
    if (count === 0 && error instanceof RolloutError && error.code === "copy_failed") {
      throw new RolloutError("not_found", `there is nothing at ${source} in the environment`, { cause: error });
    }
    throw error;
  }
}
