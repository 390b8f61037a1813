import { isDeepStrictEqual } from "node:util";
import type { JsonObject } from "../../base/json.ts";
import type { ProcessOwner } from "../../base/process-owner.ts";
import { RolloutError } from "../../base/rollout-error.ts";
import { countExactly } from "../../store/recount.ts";
import type { Run } from "../../store/run.ts";
import type { RunLease } from "../../store/run-store.ts";
import type { Store } from "../../store/store.ts";

export interface OpenRunRequest {
  readonly store: Store;
  readonly owner: ProcessOwner;
  readonly run: Run;
}

export interface OpenedRun {
  readonly lease: RunLease;
  /** The run at the start of this session, which is its last one. */
  readonly run: Run;
}

/** Creates a run, or resumes the unfinished one with its id. Throws if that one is finished, in use, or differs. */
export async function openRunRecord({ store, owner, run }: OpenRunRequest): Promise<OpenedRun> {
  const known = await countExactly(store.runs).get(run.id);
  if (known === null) return { lease: await store.runs.create(run, owner), run };
  if (!known.isResumable)
    throw new RolloutError("already_exists", `run "${run.id}" is finished`, {
      hint: "leave out runId, or give another one, to run again",
    });
  checkSame(known, run);
  const lease = await store.runs.resume(run.id, owner);
  const resumed = resumedRun({ ...lease.run, sessions: known.sessions }, run);
  // Stored now, so that the session is known even if the process dies.
  await lease.renew({ ...lease.run, sessions: resumed.sessions, owner: run.owner });
  return { lease, run: resumed };
}

/** Keeps what was recorded when the run was created. A description, tags and metadata that are given now win. */
function resumedRun(known: Run, run: Run): Run {
  const { metadata } = run.details;
  const isGiven = metadata !== undefined && Object.keys(metadata as JsonObject).length > 0;
  return {
    ...run,
    name: known.name,
    description: run.description ?? known.description,
    createdAt: known.createdAt,
    sessions: [...known.sessions, ...run.sessions],
    tags: { ...known.tags, ...run.tags },
    git: known.git,
    details: { ...run.details, metadata: isGiven ? metadata : (known.details["metadata"] ?? {}) },
  };
}

function checkSame(known: Run, run: Run): void {
  const differing = [...differences(known, run)];
  if (differing.length === 0) return;
  throw new RolloutError("config_invalid", `run "${run.id}" cannot be resumed: ${differing.join("; ")}`, {
    hint: "resume it with what it was started with, or start a new run",
  });
}

function* differences(known: Run, run: Run): Iterable<string> {
  if (known.kind !== run.kind) yield `it is a ${known.kind}`;
  const [before, now] = [known.datasets[0], run.datasets[0]];
  if (before?.id !== now?.id) yield "it ran on another dataset";
  else if (before?.version !== now?.version)
    yield `it ran on version ${before?.version ?? "-"}, not ${now?.version ?? "-"}`;
  if (known.plan.total !== run.plan.total) yield `it has ${known.plan.total} items, not ${run.plan.total}`;
  yield* identityDifferences(identityOf(known), identityOf(run));
}

function identityOf({ details }: Run): JsonObject {
  return (details["identity"] ?? {}) as JsonObject;
}

function* identityDifferences(known: JsonObject, now: JsonObject): Iterable<string> {
  for (const key of new Set([...Object.keys(known), ...Object.keys(now)])) {
    if (isDeepStrictEqual(known[key], now[key])) continue;
    if (key === "data_hash") yield "the items given in code were others";
    else yield `${key} was ${JSON.stringify(known[key] ?? null)}, not ${JSON.stringify(now[key] ?? null)}`;
  }
}
