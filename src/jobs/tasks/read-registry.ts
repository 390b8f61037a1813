import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import type { Clock } from "../../base/clock.ts";
import { formatProblem } from "../../base/problem.ts";
import { messageOf, RolloutError, systemCodeOf } from "../../base/rollout-error.ts";
import { fetchText } from "./fetch-text.ts";
import { parseRegistry } from "./parse-registry.ts";
import type { RegistryEntry } from "./registry.ts";
import { showUrl } from "./show-url.ts";

export interface ReadRegistryOptions {
  readonly signal: AbortSignal;
  readonly clock: Clock;
  readonly limitMs?: number | undefined;
}

/** Where a registry is: a registry.json, a directory that holds one, or an http(s) URL. */
export type RegistryRef = { readonly path: string } | { readonly url: string };

/** The datasets of a registry; rejects with `config_invalid` for what a person wrote, `registry_failed` for a server. */
export async function readRegistry(ref: RegistryRef, options: ReadRegistryOptions): Promise<RegistryEntry[]> {
  options.signal.throwIfAborted();
  return "url" in ref ? readFromUrl(ref.url, options) : readFromPath(ref.path);
}

async function readFromUrl(url: string, options: ReadRegistryOptions): Promise<RegistryEntry[]> {
  const text = await fetchText(url, { ...options, limitMs: options.limitMs ?? 30_000 });
  const shown = showUrl(url);
  const { entries, problems } = parseRegistry(text, shown);
  const [first] = problems;
  if (first === undefined) return entries;
  const more = problems.length > 1 ? ` (and ${problems.length - 1} more)` : "";
  throw new RolloutError("registry_failed", `what ${shown} answered is no registry: ${formatProblem(first)}${more}`, {
    hint: "check that the URL is that of the registry.json itself, not of a page that shows it",
    problems,
  });
}

async function readFromPath(path: string): Promise<RegistryEntry[]> {
  const file = await findRegistryFile(path);
  let text: string;
  try {
    text = (await readFile(file, "utf8")).replace(/^\uFEFF/, "");
  } catch (error) {
    throw unreadable(path, file, error);
  }
  const { entries, problems } = parseRegistry(text, file);
  const [first] = problems;
  if (first === undefined) return entries;
  const count = problems.length > 1 ? ` ${problems.length} problems` : " a problem";
  throw new RolloutError("config_invalid", `the registry has${count}: ${formatProblem(first)}`, { problems });
}

async function findRegistryFile(path: string): Promise<string> {
  try {
    return (await stat(path)).isDirectory() ? join(path, "registry.json") : path;
  } catch (error) {
    throw unreadable(path, path, error);
  }
}

function unreadable(path: string, file: string, error: unknown): RolloutError {
  const isMissing = systemCodeOf(error) === "ENOENT";
  const message = isMissing
    ? `the registry ${file} does not exist`
    : `the registry ${file} cannot be read: ${messageOf(error)}`;
  const hint =
    isMissing && path !== file ? `${path} is a directory without a registry.json` : "check the registry's path";
  return new RolloutError("config_invalid", message, { hint, cause: error });
}
