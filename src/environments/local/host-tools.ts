import { accessSync, constants, existsSync } from "node:fs";
import { delimiter, join } from "node:path";
import type { Host } from "../../base/host.ts";

const systemDirectories = ["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"];

/** Where tools of the host are looked for; the system's own directories come first. */
export function toolPath(host: Pick<Host, "env">): string {
  const own = (host.env["PATH"] ?? "").split(delimiter).filter((directory) => directory.startsWith("/"));
  return [...new Set([...systemDirectories, ...own])].join(delimiter);
}

/** The path of a tool of the host; null when it is not installed. */
export function findTool(name: string, path: string): string | null {
  for (const directory of path.split(delimiter)) {
    const file = join(directory, name);
    if (existsSync(file) && isExecutable(file)) return file;
  }
  return null;
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
