import type { IncomingHttpHeaders } from "node:http";

const linkBit = 2 ** 27;
const directoryBit = 2 ** 31;

/** What stands at a path of a container. */
export interface PathStat {
  readonly isLink: boolean;
  readonly isDirectory: boolean;
  /** Where a link leads to in the end. */
  readonly linkTarget: string;
  readonly size: number;
  /** Type, permissions and time of the last change, the time as whoever wrote it wants it to be. */
  readonly mode: number;
  readonly mtime: string;
}

/** What an engine says about the path that it was asked for; a plain file of nothing when it says nothing. */
export function readPathStat(headers: IncomingHttpHeaders): PathStat {
  const { mode = 0, linkTarget = "", size = 0, mtime = "" } = parse(headers);
  const has = (bit: number): boolean => Math.floor(mode / bit) % 2 === 1;
  return { isLink: has(linkBit), isDirectory: has(directoryBit), linkTarget, size, mode, mtime };
}

function parse(headers: IncomingHttpHeaders): Partial<Omit<PathStat, "isLink" | "isDirectory">> {
  try {
    const text = Buffer.from(String(headers["x-docker-container-path-stat"]), "base64").toString("utf8");
    return JSON.parse(text) as Partial<PathStat>;
  } catch {
    return {};
  }
}
