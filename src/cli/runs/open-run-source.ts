import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { RolloutError } from "../../base/rollout-error.ts";
import { openExperimentSource } from "../../experiments/source/open-experiment-source.ts";
import { openJobSource } from "../../jobs/source/open-job-source.ts";
import { countExactly } from "../../store/recount.ts";
import { joinSources } from "../../store/joined-source.ts";
import type { RunSource } from "../../store/run-source.ts";
import type { Store } from "../../store/store.ts";
import type { CliContext } from "../cli-context.ts";
import { isMissingStore, openNamedStore, storeLocation } from "../open-store.ts";

export interface RunSourceOptions {
  readonly store?: string;
  /** Directories to read instead of `jobs` and `experiments` of the working directory. */
  readonly paths?: readonly string[];
}

/** The runs of a store and of directories, as one source. */
export interface OpenRunSource extends AsyncDisposable {
  readonly source: RunSource;
  /** Null if there is none. */
  readonly store: Store | null;
  /** Where runs are looked for, as a person would type it. */
  readonly places: readonly string[];
  /** Places that could not be read. */
  readonly problems: readonly string[];
}

const usualDirectories = ["jobs", "experiments"];

/** Opens every run that a person can name here. A run in a directory wins over its entry in the store. */
export async function openRunSource(options: RunSourceOptions, context: CliContext): Promise<OpenRunSource> {
  const { host, clock } = context;
  const named = options.paths ?? [];
  for (const path of named)
    if (!existsSync(resolve(host.cwd, path))) throw new RolloutError("not_found", `${path} does not exist`);
  const roots = (named.length > 0 ? named : usualDirectories).map((path) => resolve(host.cwd, path));
  const problems: string[] = [];
  const usesStore = named.length === 0 || options.store !== undefined;
  const store = usesStore ? await openStoreIfThere(options.store, context, problems) : null;
  const places = [...(named.length > 0 ? named : usualDirectories)];
  if (usesStore) places.push(storeLocation(options.store, context));
  const opened = new AsyncDisposableStack();
  if (store !== null) opened.use(store);
  return {
    source: joinSources([
      openJobSource({ roots, host, clock }),
      openExperimentSource({ roots, host, clock }),
      ...(store === null ? [] : [countExactly(store.runs)]),
    ]),
    store,
    places,
    problems,
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}

// A store that a person named must be there; the usual one may be missing.
async function openStoreIfThere(
  location: string | undefined,
  context: CliContext,
  problems: string[],
): Promise<Store | null> {
  try {
    return await openNamedStore(location, "read", context);
  } catch (error) {
    if (isMissingStore(error) && location === undefined) return null;
    if (location !== undefined || !(error instanceof RolloutError)) throw error;
    problems.push(error.message);
    return null;
  }
}
