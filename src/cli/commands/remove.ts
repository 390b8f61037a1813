import { existsSync, statSync } from "node:fs";
import { rm } from "node:fs/promises";
import { resolve } from "node:path";
import { createInterface } from "node:readline/promises";
import { RolloutError } from "../../base/rollout-error.ts";
import { plainText } from "../../base/terminal-text.ts";
import { countText } from "../../report/number-text.ts";
import type { Run } from "../../store/run.ts";
import type { CliContext } from "../cli-context.ts";
import { exitCodes } from "../exit-codes.ts";
import { isMissingStore, openNamedStore } from "../open-store.ts";
import { locateRun, type LocateOptions } from "../runs/locate-run.ts";
import { openRunSource } from "../runs/open-run-source.ts";
import { shortId, shownLocation } from "./list.ts";

export interface RemoveOptions extends LocateOptions {
  readonly yes?: boolean;
}

/** `rollout remove`: removes runs with everything they stored, after a confirmation. */
export async function removeCommand(
  words: readonly string[],
  options: RemoveOptions,
  context: CliContext,
): Promise<number> {
  const { terminal, host } = context;
  const runs: Run[] = [];
  for (const word of words) {
    await using located = await locateRun(word, options, context);
    const { run } = located;
    if (run.owner !== null)
      throw new RolloutError(
        "in_use",
        `${run.name} is ${run.status}: process ${run.owner.pid} on ${run.owner.hostname}`,
        {
          hint: "end that process first",
        },
      );
    if (!runs.some(({ id }) => id === run.id)) runs.push(run);
  }
  for (const run of runs)
    terminal.err(
      `${plainText(`${shortId(run)}  ${run.name}  ${run.kind}, ${countText(run.counts.finished, run.shape.unitNoun)}, ${shownLocation(run, host.cwd)}`)}\n`,
    );
  if (options.yes !== true && !(await confirm(runs.length, context))) {
    terminal.err("nothing was removed\n");
    return exitCodes.usage;
  }
  for (const run of runs) {
    await removeRun(run, options, context);
    terminal.err(`removed ${plainText(run.name)}\n`);
  }
  return exitCodes.done;
}

async function confirm(count: number, { process }: CliContext): Promise<boolean> {
  if (!process.stdin.isTTY)
    throw new RolloutError("usage_invalid", "removing runs needs a confirmation", { hint: "add --yes to confirm" });
  using prompt = createInterface({ input: process.stdin, output: process.stderr });
  const answer = await prompt.question(
    `Remove ${count === 1 ? "this run" : `these ${count} runs`} and all results? [y/N] `,
  );
  return /^y(es)?$/i.test(answer.trim());
}

/** Removes the directory of a run and its entry in the store, wherever it is. */
async function removeRun(run: Run, options: RemoveOptions, context: CliContext): Promise<void> {
  const dir = resolve(context.host.cwd, run.location);
  if (run.kind !== "dataset" && (await holdsRun(dir, run, context))) await rm(dir, { recursive: true, force: true });
  if (!(await isStored(run, options, context))) return;
  await using store = await openNamedStore(options.store, "write", context);
  await store.runs.remove(run.id);
}

/** Returns whether a directory holds this run, and not another one that took its place. */
async function holdsRun(dir: string, { id }: Run, context: CliContext): Promise<boolean> {
  if (!existsSync(dir) || !statSync(dir).isDirectory()) return false;
  await using opened = await openRunSource({ paths: [dir] }, context);
  return (await opened.source.get(id)) !== null;
}

async function isStored({ id }: Run, options: RemoveOptions, context: CliContext): Promise<boolean> {
  try {
    await using store = await openNamedStore(options.store, "read", context);
    return (await store.runs.get(id)) !== null;
  } catch (error) {
    if (isMissingStore(error)) return false;
    throw error;
  }
}
