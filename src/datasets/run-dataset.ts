import { DatasetRun } from "./dataset-run.ts";
import { prepareRun } from "./prepare-run.ts";
import { openRunRecord } from "./results/open-run-record.ts";
import type { RunConfig } from "./run-config.ts";
import type { RunGround } from "./run-ground.ts";
import type { RunSummary } from "./summary.ts";

/**
 * Runs every item of a dataset against a target and marks what comes out. Throws only before anything began: for a config
 * that cannot be, or a dataset, target or scorer that is not there. After that every end is a summary.
 */
export async function runDataset(config: RunConfig, ground: RunGround): Promise<RunSummary> {
  const prepared = await prepareRun(config);
  const { storage } = config;
  const hold =
    storage === undefined ? null : await openRunRecord({ store: storage, owner: ground.owner, plan: prepared.plan });
  return await new DatasetRun(prepared, hold, ground).run();
}
