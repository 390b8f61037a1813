import { posix } from "node:path";
import { RolloutError } from "../../base/rollout-error.ts";
import { decodeTar } from "../archive/decode-tar.ts";
import { stripRoot } from "../archive/strip-root.ts";
import type { TreeEntry } from "../archive/tree-entry.ts";
import { mostWastedBytes, writeTree } from "../archive/write-tree.ts";
import type { CopyFromRequest, CopyReport } from "../environment.ts";
import type { PodShell } from "./commands/pod-shell.ts";

const missingCode = 40;
const linkCode = 41;
const script = `path=$1
if [ -L "$path" ]; then exit ${linkCode}; fi
[ -e "$path" ] || exit ${missingCode}
cd -- "$2" || exit ${missingCode}; name=$3; shift 3
exec tar -c -f - "$@" -- "$name"`;

// What the kernel shows there is no file of anybody's.
const rootExcludes = ["proc", "sys", "dev"].map((name) => `--exclude=./${name}/*`);

/** Copies something out of a Pod by way of an archive that its own tar makes and that is trusted in nothing. */
export async function copyOut(shell: PodShell, request: CopyFromRequest): Promise<CopyReport> {
  const { target, renames, limits, signal } = request;
  const path = posix.resolve("/", request.source);
  const name = posix.basename(path);
  async function* entries(archive: AsyncIterable<Uint8Array>): AsyncGenerator<TreeEntry> {
    for await (const entry of decodeTar(archive)) {
      yield name === "" ? { ...entry, path: entry.path.replace(/^(\.?\/)+|^\.$/, "") } : stripRoot(entry, name);
    }
  }
  let report: CopyReport | null = null;
  const { exitCode, stderr } = await shell.runTool({
    script,
    command: [path, posix.dirname(path), name || ".", ...(name === "" ? rootExcludes : [])],
    output: async (bytes) => {
      report = null;
      // A tool that refuses prints nothing, and its exit code says why.
      const archive = await peek(bytes);
      if (archive !== null)
        report = await writeTree(entries(archive), target, { signal, renames, limits, mostWastedBytes });
    },
    signal,
  });
  if (exitCode === linkCode) return { files: 0, bytes: 0, refused: [{ path: "", reason: "it is a link" }] };
  if (exitCode === missingCode) {
    throw new RolloutError("not_found", `there is nothing at ${request.source} in the environment`);
  }
  // With 1 and 2 tar says that a file changed or could not be read; what it could is in the archive.
  if (report !== null && exitCode <= 2) return report;
  throw new RolloutError("copy_failed", `tar ended with ${exitCode}: ${stderr.trim()}`, {
    hint: exitCode === 127 ? "use an image that has `tar`" : undefined,
  });
}

async function peek(bytes: AsyncIterable<Buffer>): Promise<AsyncIterable<Buffer> | null> {
  const iterator = bytes[Symbol.asyncIterator]();
  const first = await iterator.next();
  if (first.done) return null;
  return (async function* () {
    try {
      yield first.value;
      for (;;) {
        const next = await iterator.next();
        if (next.done) return;
        yield next.value;
      }
    } finally {
      await iterator.return?.();
    }
  })();
}
