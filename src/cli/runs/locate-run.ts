import { existsSync, statSync } from "node:fs";
import { resolve } from "node:path";
import { RolloutError } from "../../base/rollout-error.ts";
import { shellWord, shownPath } from "../../base/shown-path.ts";
import { findRun } from "../../store/find-run.ts";
import type { Run } from "../../store/run.ts";
import type { CliContext } from "../cli-context.ts";
import { openRunSource, type OpenRunSource } from "./open-run-source.ts";

export interface LocateOptions {
  readonly store?: string;
  /** A directory that holds experiments or jobs. */
  readonly outputDir?: string;
}

/** A run and the source that reads it. */
export interface LocatedRun extends OpenRunSource {
  readonly run: Run;
  /** What a person types to name the run in the next command. */
  readonly word: string;
}

/**
 * Finds the run that a person names: a directory, an id or its beginning, `NAME`, `NAME~1`; the newest without a word.
 * Dispose it to close its store.
 */
export async function locateRun(
  word: string | undefined,
  options: LocateOptions,
  context: CliContext,
): Promise<LocatedRun> {
  const { host } = context;
  const path = word === undefined ? null : resolve(host.cwd, options.outputDir ?? "", word);
  const inDirectory = path === null ? null : await readDirectory(path, context);
  if (inDirectory !== null && "run" in inDirectory) return inDirectory;
  const paths = options.outputDir === undefined ? undefined : [options.outputDir];
  const opened = await openRunSource({ ...options, ...(paths ? { paths } : {}) }, context);
  try {
    const found = await findRun(opened.source, word);
    return { ...opened, run: await exact(opened, found), word: word ?? found.id };
  } catch (error) {
    await opened[Symbol.asyncDispose]();
    const isSeveral = inDirectory !== null && inDirectory.count > 1;
    const hint = isSeveral && word !== undefined ? `\`rollout list ${shellWord(word)}\` lists them` : undefined;
    const what = word === undefined || path === null ? null : describePath(word, path, isSeveral);
    throw explain(error, { what, hint, opened });
  }
}

/** Reads the run in a directory, or counts the runs there; null if the path is not a directory. */
async function readDirectory(
  path: string,
  context: CliContext,
): Promise<LocatedRun | { readonly count: number } | null> {
  if (!existsSync(path) || !statSync(path).isDirectory()) return null;
  const shown = shownPath(path, context.host.cwd);
  const opened = await openRunSource({ paths: [shown] }, context);
  const { entries } = await opened.source.list({}, { after: null, limit: 2 });
  const [only] = entries;
  if (only !== undefined && entries.length === 1) return { ...opened, run: await exact(opened, only), word: shown };
  await opened[Symbol.asyncDispose]();
  return { count: entries.length };
}

function describePath(word: string, path: string, isSeveral: boolean): string {
  if (!existsSync(path)) return `${word} does not exist`;
  return isSeveral ? `${word} holds several runs` : `${word} is not a job directory or an experiment directory`;
}

interface Explanation {
  /** A sentence about the path that the word may have meant; null without a word. */
  readonly what: string | null;
  readonly hint: string | undefined;
  readonly opened: OpenRunSource;
}

/** Adds where runs were looked for to the error about a run that was not found. */
function explain(error: unknown, { what, hint, opened: { places, problems } }: Explanation): unknown {
  if (!(error instanceof RolloutError) || error.code !== "not_found") return error;
  const where = `${error.message} in ${places.join(", ")}`;
  const message = [what === null ? where : `${what}, and ${where}`, ...problems].join("; ");
  return new RolloutError("not_found", message, { hint: hint ?? error.hint, cause: error });
}

// A list may be some seconds behind.
async function exact({ source }: OpenRunSource, run: Run): Promise<Run> {
  return (await source.get(run.id)) ?? run;
}
