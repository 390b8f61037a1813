import { chmodSync, mkdirSync } from "node:fs";
import { join } from "node:path";

/** Where the local provider keeps what outlives a process. */
export interface LocalLayout {
  readonly root: string;
  /** One folder for each environment, named by its id. */
  readonly environments: string;
  /** One folder for each step of a Dockerfile, named by its content. */
  readonly layers: string;
  readonly images: string;
  readonly bases: string;
  readonly tools: string;
  /** One folder for each process that runs commands, named after it. */
  readonly pipes: string;
  /** What is being removed. */
  readonly trash: string;
}

/** The layout below a cache directory. */
export function planLayout(cacheDir: string): LocalLayout {
  const root = join(cacheDir, "local");
  const at = (name: string): string => join(root, name);
  return {
    root,
    environments: at("environments"),
    layers: at("layers"),
    images: at("images"),
    bases: at("bases"),
    tools: at("tools"),
    pipes: at("pipes"),
    trash: at("trash"),
  };
}

/** Makes the folders; the ids of an environment may pass through them and not list them. */
export function makeLayout(layout: LocalLayout): void {
  for (const path of Object.values(layout)) {
    mkdirSync(path, { recursive: true });
    chmodSync(path, 0o711);
  }
}
