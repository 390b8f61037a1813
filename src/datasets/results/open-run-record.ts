import { isDeepStrictEqual } from "node:util";
import type { JsonObject } from "../../base/json.ts";
import type { ProcessOwner } from "../../base/process-owner.ts";
import { RolloutError } from "../../base/rollout-error.ts";
import type { RunHold, RunPlan, RunRecord } from "../../store/run-store.ts";
import type { Store } from "../../store/store.ts";

export interface RecordWish {
  readonly store: Store;
  readonly owner: ProcessOwner;
  readonly plan: RunPlan;
}

/** Begins a run, or takes up the unfinished one of that id; throws when it is finished, held, or was about something else. */
export async function openRunRecord({ store, owner, plan }: RecordWish): Promise<RunHold> {
  const known = await store.runs.find(plan.id);
  if (known === null) return await store.runs.begin(plan, owner);
  if (known.isFinished)
    throw new RolloutError("already_exists", `run "${plan.id}" is finished`, {
      hint: "leave out runId, or give another one, to run again",
    });
  checkSame(known, plan);
  return await store.runs.take(plan.id, owner);
}

function checkSame(known: RunRecord, plan: RunPlan): void {
  const differing = [...differences(known, plan)];
  if (differing.length === 0) return;
  throw new RolloutError("config_invalid", `run "${plan.id}" was about something else: ${differing.join("; ")}`, {
    hint: "take it up with what it began with, or begin a new run",
  });
}

function* differences(known: RunRecord, plan: RunPlan): Iterable<string> {
  if (known.kind !== plan.kind) yield `it is a ${known.kind}`;
  if (known.datasetId !== plan.datasetId) yield "it ran on another dataset";
  else if (known.datasetVersion !== plan.datasetVersion)
    yield `it ran on version ${known.datasetVersion ?? "-"}, not ${plan.datasetVersion ?? "-"}`;
  if (known.total !== plan.total) yield `it has ${known.total} items, not ${plan.total}`;
  yield* identityDifferences(known.identity, plan.identity);
}

function* identityDifferences(known: JsonObject, plan: JsonObject): Iterable<string> {
  for (const key of new Set([...Object.keys(known), ...Object.keys(plan)])) {
    if (isDeepStrictEqual(known[key], plan[key])) continue;
    if (key === "dataHash") yield "the items given in code were others";
    else yield `${key} was ${JSON.stringify(known[key] ?? null)}, not ${JSON.stringify(plan[key] ?? null)}`;
  }
}
