import { resolve } from "node:path";
import { readOwner } from "../../base/process-owner.ts";
import { RolloutError } from "../../base/rollout-error.ts";
import { shellWord } from "../../base/shown-path.ts";
import { openDirectoryRepository } from "../../experiments/output/directory/directory-repository.ts";
import type { ExperimentRepository } from "../../experiments/output/experiment-repository.ts";
import { openStoreRepository } from "../../experiments/output/store/store-repository.ts";
import type { Run } from "../../store/run.ts";
import type { Store } from "../../store/store.ts";
import type { CliContext } from "../cli-context.ts";
import { openNamedStore } from "../open-store.ts";

export interface PlaceOptions {
  readonly store?: string;
  readonly outputDir?: string;
}

/** Where experiments and stored datasets are, as a person said it. */
export interface ExperimentPlace extends AsyncDisposable {
  /** A place that is only read must be there. */
  openRepository(access?: "read" | "write"): Promise<ExperimentRepository>;
  /** For datasets. */
  openStore(): Promise<Store>;
  /** What a command typed next needs to mean the same place. */
  readonly words: string;
}

/** Opens nothing before it is asked for. */
export function openExperimentPlace(options: PlaceOptions, signal: AbortSignal, context: CliContext): ExperimentPlace {
  const { host, clock } = context;
  const { outputDir } = options;
  const stack = new AsyncDisposableStack();
  let opened: Promise<Store> | null = null;
  const open = (access: "read" | "write"): Promise<Store> =>
    (opened ??= openNamedStore(options.store, access, context).then((store) => stack.use(store)));
  const words = Object.entries({ "--output-dir": outputDir, "--store": options.store });
  return {
    async openRepository(access = "write") {
      if (outputDir === undefined)
        return openStoreRepository({ store: await open(access), owner: readOwner(host), clock });
      return openDirectoryRepository({ directory: resolve(host.cwd, outputDir), host, clock, signal });
    },
    openStore: () => open("read"),
    words: words.map(([name, value]) => (value === undefined ? "" : ` ${name} ${shellWord(value)}`)).join(""),
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

/** The experiment of an id; rejects with `not_found`. */
export async function findExperiment(repository: ExperimentRepository, id: string): Promise<Run> {
  const record = await repository.find(id);
  if (record === null)
    throw new RolloutError("not_found", `there is no experiment "${id}"`, {
      hint: "experiments are looked for in --output-dir when it is given, else in the store; `rollout list` lists them",
    });
  return record;
}
