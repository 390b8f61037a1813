import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { homedir } from "node:os";
import { basename, join } from "node:path";
import { pathToFileURL } from "node:url";

/** Libraries that a package.json with its lock file names, installed in the user's cache. */
export interface Peers {
  readonly home: string;
  /** Imports a module of theirs by its name, as a file of their own package would. */
  readonly load: (name: string) => Promise<unknown>;
}

/** What imports a module from the place of the installed libraries; among them, so that no test runner rewrites it. */
export const loaderFile = "node_modules/load-peer.mjs";

/** The directory of the libraries that the lock file in `folder` names; another lock file has another one. */
export function peersHome(folder: string): string {
  const cache = process.env["XDG_CACHE_HOME"] || join(homedir(), ".cache");
  const lock = createHash("sha256")
    .update(readFileSync(join(folder, "package-lock.json")))
    .digest("hex");
  return join(cache, "rollout", "peers", `${basename(folder)}-${lock.slice(0, 16)}`);
}

/** The libraries that the lock file in `folder` names, or null where they were not installed. */
export async function findPeers(folder: string): Promise<Peers | null> {
  const home = peersHome(folder);
  const loader = join(home, loaderFile);
  if (!existsSync(loader)) return null;
  const { load } = (await import(pathToFileURL(loader).href)) as Pick<Peers, "load">;
  return { home, load };
}
