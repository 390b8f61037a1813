import { collectToolMarks, markOf, pathsToLookAt, type ToolMarks, type ToolStat } from "../../integrity/tool-marks.ts";
import { hasStatus } from "../connection/engine-error.ts";
import type { Engine } from "../connection/open-engine.ts";
import { readPathStat } from "../connection/path-stat.ts";

// An engine takes them one after the other; these are enough that it never waits for us.
const looksInFlight = 8;

/** Tools of an image as an engine sees them. */
export interface SeenTools {
  readonly marks: ToolMarks;
  /** The sizes of those that are files. */
  readonly sizes: ReadonlyMap<string, number>;
}

/** Asks an engine which tools there are in a container that nobody has used, and what they look like. */
export async function findTools(engine: Engine, id: string, signal: AbortSignal): Promise<SeenTools> {
  const sizes = new Map<string, number>();
  const look = (path: string): Promise<ToolStat | null> =>
    readStat(engine, id, path, signal, (size) => sizes.set(path, size));
  return { marks: await collectToolMarks(look, looksInFlight), sizes };
}

/** Asks an engine what the tools of a container look like now; whoever changes one can make it look the same. */
export async function lookAtTools(
  engine: Engine,
  id: string,
  image: ToolMarks,
  signal: AbortSignal,
): Promise<ToolMarks> {
  const marks = new Map<string, string>();
  const left = pathsToLookAt(image).values();
  const work = async (): Promise<void> => {
    for (const path of left) {
      const mark = markOf(await readStat(engine, id, path, signal));
      if (mark !== null) marks.set(path, mark);
    }
  };
  await Promise.all(Array.from({ length: looksInFlight }, work));
  return marks;
}

async function readStat(
  engine: Engine,
  id: string,
  path: string,
  signal: AbortSignal,
  onFile: (size: number) => void = () => {},
): Promise<ToolStat | null> {
  const request = { path: `/containers/${id}/archive`, query: { path }, signal };
  const headers = await engine.client.headers(request).catch((error: unknown) => {
    if (hasStatus(error, 404)) return null;
    throw error;
  });
  if (headers === null) return null;
  const { isLink, linkTarget, isDirectory, mode, size, mtime } = readPathStat(headers);
  if (isLink) return { kind: "link", target: linkTarget };
  if (isDirectory) return { kind: "directory" };
  onFile(size);
  return { kind: "other", mark: [mode, size, mtime].join(" ") };
}
