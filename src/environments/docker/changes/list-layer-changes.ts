import { posix } from "node:path";
import { decodeTar } from "../../archive/decode-tar.ts";
import type { ChangeReport, FileChange, ListChangesRequest } from "../../environment.ts";
import { hasStatus } from "../connection/engine-error.ts";
import type { Engine } from "../connection/open-engine.ts";
import { readPathStat } from "../connection/path-stat.ts";
import type { PathChange } from "../snapshots/plan-looks.ts";

const kinds = ["changed", "added", "removed"] as const;
// Each costs one call to the engine. Other paths are listed without their type.
const maxStats = 50;

/** Lists what the engine says about a container's own layer. The originals stay in the image, out of reach. */
export async function listLayerChanges(
  engine: Engine,
  id: string,
  { directory, exclude, signal }: ListChangesRequest,
): Promise<ChangeReport> {
  const request = { method: "GET", path: `/containers/${id}/changes`, signal } as const;
  const found = (await engine.client.json<readonly PathChange[] | null>(request)) ?? [];
  const root = posix.resolve("/", directory);
  const isAsked = ({ Path }: PathChange): boolean =>
    isInside(Path, root) && !exclude.some((path) => Path === path || isInside(Path, path));
  const parents = new Set(found.map(({ Path }) => posix.dirname(Path)));
  const changes: FileChange[] = [];
  let stats = 0;
  for (const { Path, Kind } of found.filter(isAsked)) {
    const kind = kinds[Kind];
    const isParent = parents.has(Path);
    // A directory is changed as soon as something in it is.
    if (kind === "changed" && isParent) continue;
    const path = posix.relative(root, Path);
    if (kind === "removed") changes.push({ path, kind, type: null });
    else if (isParent) changes.push({ path, kind, type: "directory" });
    else if (stats++ >= maxStats) changes.push({ path, kind, type: null });
    else {
      const details = await statPath(engine, id, Path, signal);
      if (kind !== "changed" || details.type !== "directory") changes.push({ path, kind, ...details });
    }
  }
  return {
    changes,
    isCut: false,
    readAfter: (path, maxBytes, readSignal) => readFile(engine, id, posix.join(root, path), maxBytes, readSignal),
  };
}

async function statPath(
  { client }: Engine,
  id: string,
  path: string,
  signal: AbortSignal,
): Promise<Pick<FileChange, "type" | "size" | "linkTarget">> {
  const request = { path: `/containers/${id}/archive`, query: { path }, signal };
  const headers = await client.headers(request).catch((error: unknown) => {
    if (hasStatus(error, 404)) return null;
    throw error;
  });
  if (headers === null) return { type: null };
  const { isLink, isDirectory, linkTarget, size } = readPathStat(headers);
  if (isLink) return { type: "link", linkTarget };
  return isDirectory ? { type: "directory" } : { type: "file", size };
}

async function readFile(
  { client }: Engine,
  id: string,
  path: string,
  maxBytes: number,
  signal: AbortSignal,
): Promise<Uint8Array | null> {
  const request = { method: "GET", path: `/containers/${id}/archive`, query: { path }, signal } as const;
  const answer = await client.open(request).catch((error: unknown) => {
    if (hasStatus(error, 404)) return null;
    throw error;
  });
  if (answer === null) return null;
  const onAbort = (): void => void answer.destroy();
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    // Some engines would follow the link.
    if (readPathStat(answer.headers).isLink) return null;
    for await (const entry of decodeTar(answer)) {
      if (entry.type !== "file" || entry.size > maxBytes) return null;
      const chunks: Uint8Array[] = [];
      for await (const chunk of entry.body) chunks.push(Buffer.from(chunk));
      return Buffer.concat(chunks);
    }
    return null;
  } finally {
    signal.removeEventListener("abort", onAbort);
    answer.destroy();
  }
}

function isInside(path: string, directory: string): boolean {
  return path !== directory && path.startsWith(directory === "/" ? "/" : `${directory}/`);
}
