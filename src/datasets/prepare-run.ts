import { createHash, randomUUID } from "node:crypto";
import { toJson } from "../base/to-json.ts";
import type { JsonObject } from "../base/json.ts";
import { checkRunConfig, type RunRules } from "./check-run-config.ts";
import { datasetName, openItems, type ItemSource } from "./items/item-source.ts";
import type { RunConfig } from "./run-config.ts";
import { chooseScorers, type ScorerChoice } from "./scorers/scorer-choice.ts";
import { resolveTarget } from "./targets/resolve-target.ts";
import type { ResolvedTarget } from "./targets/target.ts";

export interface DatasetRunPlan {
  readonly id: string;
  readonly name: string;
  /** Units in total: items x repeats. */
  readonly total: number;
  /** What must be the same for the run to be resumed. */
  readonly identity: JsonObject;
}

/** A run whose config is valid and whose parts exist. Nothing has started. */
export interface PreparedRun {
  readonly config: RunConfig;
  readonly rules: RunRules;
  readonly items: ItemSource;
  readonly target: ResolvedTarget;
  readonly scorers: ScorerChoice;
  readonly plan: DatasetRunPlan;
}

/** Checks a config and finds all that a run needs; throws when something is wrong or missing. */
export async function prepareRun(config: RunConfig): Promise<PreparedRun> {
  const rules = checkRunConfig(config);
  const items = await openItems(config);
  const target = await resolveTarget({
    target: config.target,
    targetType: config.targetType,
    targetId: config.targetId,
    registry: config.registry,
    fallbackName: config.name,
  });
  const scorers = await chooseScorers({ scorers: config.scorers, registry: config.registry, dataset: items.dataset });
  // Only what is stored can be taken up again with other items.
  const dataHash = items.dataset === null && config.storage !== undefined ? await hashItems(items) : null;
  return { config, rules, items, target, scorers, plan: planRun({ config, rules, items, target, scorers }, dataHash) };
}

/** Tells items given in code from others. */
async function hashItems(items: ItemSource): Promise<string> {
  const hash = createHash("sha256");
  for await (const page of items.pages())
    for (const { id, input, expectedOutput, metadata } of page)
      hash.update(`${JSON.stringify(toJson([id, input, expectedOutput, metadata]).json)}\n`);
  return hash.digest("hex");
}

function planRun(
  { config, rules, items, target, scorers }: Omit<PreparedRun, "plan">,
  dataHash: string | null,
): DatasetRunPlan {
  const { perItem, perDataset } = scorers.ofRun;
  return {
    id: config.runId ?? randomUUID(),
    name: config.name ?? `${target.name} on ${items.dataset?.name ?? "data"}`,
    total: items.total * rules.repeats,
    identity: {
      target_type: target.type,
      target: target.name,
      dataset: datasetName(items),
      scorers: perItem.map(({ id }) => id),
      dataset_scorers: perDataset.map(({ id }) => id),
      repeats: rules.repeats,
      limit: config.limit ?? null,
      sample: config.sample ?? null,
      seed: config.seed ?? null,
      data_hash: dataHash,
      ...(config.passAt === undefined ? {} : { pass_at: config.passAt }),
    },
  };
}
