import { DatasetRun } from "./dataset-run.ts";
import { datasetName } from "./items/item-source.ts";
import { prepareRun } from "./prepare-run.ts";
import { openRunRecord } from "./results/open-run-record.ts";
import type { RunConfig } from "./run-config.ts";
import type { RunContext } from "./run-context.ts";
import type { RunSummary } from "./summary.ts";
import { toRun } from "./to-run.ts";

/**
 * Runs every item of a dataset against a target and scores what comes out. Throws only before anything starts: for an
 * invalid config, or a dataset, target or scorer that does not exist. After that every end is a summary.
 */
export async function runDataset(config: RunConfig, context: RunContext): Promise<RunSummary> {
  const prepared = await prepareRun(config);
  const { items, target, rules } = prepared;
  const names = { target: target.name, dataset: datasetName(items), repeats: rules.repeats };
  const newRun = toRun(prepared, names, context);
  const { storage: store } = config;
  const { lease, run } =
    store === undefined
      ? { lease: null, run: newRun }
      : await openRunRecord({ store, owner: context.owner, run: newRun });
  return await new DatasetRun({ prepared, names, lease, run, context }).run();
}
