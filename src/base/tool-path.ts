import { delimiter } from "node:path";
import type { Host } from "./host.ts";

const systemDirectories = ["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"];

/** Where tools of the host are looked for; the system's own directories come first. */
export function toolPath(host: Pick<Host, "env">): string {
  const own = (host.env["PATH"] ?? "").split(delimiter).filter((directory) => directory.startsWith("/"));
  return [...new Set([...systemDirectories, ...own])].join(delimiter);
}
