import { posix } from "node:path";
import { decodeTar } from "../archive/decode-tar.ts";
import { stripRoot } from "../archive/strip-root.ts";
import type { TreeEntry } from "../archive/tree-entry.ts";
import { mostWastedBytes, writeTree } from "../archive/write-tree.ts";
import type { CopyFromRequest, CopyReport } from "../environment.ts";
import type { Engine } from "./connection/open-engine.ts";
import { readPathStat } from "./connection/path-stat.ts";

/** Copies something out of a container by way of an archive that the engine makes and that is trusted in nothing. */
export async function copyOut(engine: Engine, id: string, request: CopyFromRequest): Promise<CopyReport> {
  const { target, renames, limits, signal } = request;
  const path = posix.resolve("/", request.source);
  const answer = await engine.client.open({
    method: "GET",
    path: `/containers/${id}/archive`,
    query: { path },
    signal,
  });
  const onAbort = (): void => void answer.destroy();
  signal.addEventListener("abort", onAbort, { once: true });
  const name = posix.basename(path);
  // Some engines would follow it and show what it leads to under its name.
  if (readPathStat(answer.headers).isLink) {
    answer.destroy();
    signal.removeEventListener("abort", onAbort);
    return { files: 0, bytes: 0, refused: [{ path: "", reason: "it is a link" }] };
  }
  async function* entries(): AsyncGenerator<TreeEntry> {
    for await (const entry of decodeTar(answer)) {
      yield name === "" ? { ...entry, path: entry.path.replace(/^(\.?\/)+|^\.$/, "") } : stripRoot(entry, name);
    }
  }
  try {
    return await writeTree(entries(), target, { signal, renames, limits, mostWastedBytes });
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  } finally {
    signal.removeEventListener("abort", onAbort);
    answer.destroy();
  }
}
