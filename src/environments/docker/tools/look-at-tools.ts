import { collectToolMarks, type ToolMarks, type ToolStat } from "../../integrity/tool-marks.ts";
import { hasStatus } from "../connection/engine-error.ts";
import type { Engine } from "../connection/open-engine.ts";
import { readPathStat } from "../connection/path-stat.ts";

// An engine takes them one after the other; more would only be more connections.
const looksInFlight = 4;

/** Tools as an engine sees them from outside of their container. */
export interface SeenTools {
  readonly marks: ToolMarks;
  /** The sizes of those that are files. */
  readonly sizes: ReadonlyMap<string, number>;
}

/** Asks an engine what the tools of a container look like; whoever changes one can make it look the same. */
export async function lookAtTools(engine: Engine, id: string, signal: AbortSignal): Promise<SeenTools> {
  const sizes = new Map<string, number>();
  const look = async (path: string): Promise<ToolStat | null> => {
    const request = { path: `/containers/${id}/archive`, query: { path }, signal };
    const headers = await engine.client.headers(request).catch((error: unknown) => {
      if (hasStatus(error, 404)) return null;
      throw error;
    });
    if (headers === null) return null;
    const { isLink, linkTarget, isDirectory, mode, size, mtime } = readPathStat(headers);
    if (isLink) return { kind: "link", target: linkTarget };
    if (isDirectory) return { kind: "directory" };
    sizes.set(path, size);
    return { kind: "other", mark: [mode, size, mtime].join(" ") };
  };
  return { marks: await collectToolMarks(look, looksInFlight), sizes };
}
