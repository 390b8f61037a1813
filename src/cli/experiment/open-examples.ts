import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { RolloutError } from "../../base/rollout-error.ts";
import type { ExampleSource } from "../../experiments/examples/example-source.ts";
import { openExampleDataset } from "../../experiments/examples/open-example-dataset.ts";
import { openExampleFile } from "../../experiments/examples/open-example-file.ts";
import { formatOf } from "../../formats/source-entry.ts";
import type { Store } from "../../store/store.ts";
import { readNameAndVersion } from "../name-and-version.ts";

export interface ExamplesWish {
  /** A file, or a dataset of the store: `name` or `name@version`. */
  readonly word: string;
  readonly cwd: string;
  readonly openStore: () => Promise<Store>;
  readonly signal: AbortSignal;
}

/** The examples that a person means: those of the file of that name if there is one, else of a stored dataset. */
export async function openExamples({ word, cwd, openStore, signal }: ExamplesWish): Promise<ExampleSource> {
  const path = resolve(cwd, word);
  if (existsSync(path)) return await openExampleFile({ path, name: word, signal });
  if (formatOf(word) !== null || word.includes("/")) throw new RolloutError("not_found", `${word} does not exist`);
  const store = await openStore().catch((error: unknown) => {
    if (!(error instanceof RolloutError && error.code === "not_found")) throw error;
    throw new RolloutError("not_found", `there is neither a file nor a stored dataset "${word}"`, { cause: error });
  });
  const { dataset, version } = await readNameAndVersion(store, word);
  return await openExampleDataset(store, dataset, version);
}
