import { basename, dirname, join, resolve } from "node:path";
import { readConfig } from "../../experiments/output/directory/config-file.ts";
import type { PlaceOptions } from "./open-experiment-place.ts";

/** An experiment as it is found: its id, and the place it is in. */
export interface LocatedExperiment<Options extends PlaceOptions> {
  readonly id: string;
  readonly options: Options;
}

/** Which experiment a person means by a word: the id of one in the place that was named, else the path of its directory. */
export async function locateExperiment<Options extends PlaceOptions>(
  word: string,
  options: Options,
  cwd: string,
): Promise<LocatedExperiment<Options>> {
  const { outputDir } = options;
  if (outputDir !== undefined && (await isExperiment(resolve(cwd, outputDir, word)))) return { id: word, options };
  if (!(await isExperiment(resolve(cwd, word)))) return { id: word, options };
  // What was typed is what is told again: no path is made longer than it was.
  return { id: basename(resolve(cwd, word)), options: { ...options, outputDir: dirname(join(word, ".")) } };
}

async function isExperiment(directory: string): Promise<boolean> {
  return (await readConfig(directory)) !== null;
}
