import { basename, dirname, join, resolve } from "node:path";
import { RolloutError } from "../../base/rollout-error.ts";
import { isExperiment } from "../../experiments/output/directory/run-file.ts";
import type { CliContext } from "../cli-context.ts";
import { kindText } from "../runs/kind-text.ts";
import { locateRun } from "../runs/locate-run.ts";
import type { PlaceOptions } from "./open-experiment-place.ts";

/** An experiment: its id, and the options that name the place it is in. */
export interface LocatedExperiment<Options extends PlaceOptions> {
  readonly id: string;
  readonly options: Options;
}

/** Finds the experiment that a person names: a directory, an id or its beginning, `NAME` or `NAME~1`. */
export async function locateExperiment<Options extends PlaceOptions>(
  word: string,
  options: Options,
  context: CliContext,
): Promise<LocatedExperiment<Options>> {
  const { cwd } = context.host;
  const { outputDir } = options;
  if (outputDir !== undefined && (await isExperiment(resolve(cwd, outputDir, word)))) return { id: word, options };
  // The path stays as it was typed.
  if (await isExperiment(resolve(cwd, word)))
    return { id: basename(resolve(cwd, word)), options: { ...options, outputDir: dirname(join(word, ".")) } };
  await using located = await locateRun(word, options, context);
  const { run } = located;
  if (run.kind !== "experiment")
    throw new RolloutError("usage_invalid", `"${word}" is ${kindText(run.kind)}, not an experiment`);
  const directory = resolve(cwd, run.location);
  if (!(await isExperiment(directory))) return { id: run.id, options };
  return { id: basename(directory), options: { ...options, outputDir: dirname(run.location) } };
}
