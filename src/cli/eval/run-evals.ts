import { RolloutError } from "../../base/rollout-error.ts";
import { readOwner } from "../../base/process-owner.ts";
import { shellWord } from "../../base/shown-path.ts";
import { followSignals } from "../../engine/follow-signals.ts";
import type { RunConfig } from "../../datasets/run-config.ts";
import { runDataset } from "../../datasets/run-dataset.ts";
import type { DatasetRunEvent } from "../../datasets/run-voice.ts";
import type { RunSummary } from "../../datasets/summary.ts";
import type { RunListener } from "../../store/run.ts";
import type { Store } from "../../store/store.ts";
import type { CliContext } from "../cli-context.ts";
import type { NamedEval } from "./load-evals.ts";

/** How the runs of a file are run. */
export interface EvalsWish {
  /** As a person would type it. */
  readonly file: string;
  readonly evals: readonly NamedEval[];
  /** Null when nothing is to be stored. */
  readonly store: Store | null;
  /** An unfinished run to go on with: its id, or true for the last one of each name. */
  readonly resume: string | boolean;
  /** What the next command needs to mean the same store. */
  readonly storeWords: string;
  readonly onEvent: RunListener;
  readonly signal: AbortSignal;
}

/** One run and what became of it. */
export interface EvalRun {
  readonly name: string;
  readonly summary: RunSummary;
}

/** Runs one after the other; stops after the one during which the signal came. */
export async function runEvals(
  wish: EvalsWish,
  { host, clock }: Pick<CliContext, "host" | "clock">,
): Promise<EvalRun[]> {
  const ground = { clock, owner: readOwner(host), random: Math.random };
  const runs: EvalRun[] = [];
  for (const { name, config } of wish.evals) {
    if (wish.signal.aborted) break;
    const storage = config.storage ?? wish.store ?? undefined;
    const runId = await findRunId(wish, name, storage, config);
    let startedId = "";
    using signal = followSignals([wish.signal, config.signal]);
    const summary = await runDataset(
      {
        ...config,
        name,
        storage,
        runId,
        signal: signal.signal,
        retainResults: config.retainResults ?? false,
        onEvent: (event) => {
          if (event.type === "run_started") startedId = event.run.id;
          return tell(event, wish, config, startedId);
        },
      },
      ground,
    );
    runs.push({ name, summary });
  }
  return runs;
}

async function tell(event: DatasetRunEvent, wish: EvalsWish, config: RunConfig, runId: string): Promise<void> {
  await config.onEvent?.(event);
  wish.onEvent(
    event.type === "run_finished"
      ? { ...event, tail: { ...event.tail, next: nextCommands(event, wish, runId) } }
      : event,
  );
}

function nextCommands(
  event: Extract<DatasetRunEvent, { type: "run_finished" }>,
  wish: EvalsWish,
  runId: string,
): string[] {
  if (wish.store === null) return [];
  const show = `rollout show ${runId}${wish.storeWords}`;
  return event.tail.status === "completed"
    ? [show]
    : [`rollout eval ${shellWord(wish.file)} --resume${wish.storeWords}`, show];
}

async function findRunId(
  { resume, evals }: EvalsWish,
  name: string,
  store: Store | undefined,
  config: RunConfig,
): Promise<string | undefined> {
  if (resume === false) return config.runId;
  if (store === undefined) throw new RolloutError("usage_invalid", "--resume needs a store to find the run in");
  if (typeof resume === "string") {
    if (evals.length > 1)
      throw new RolloutError("usage_invalid", "--resume with an id is about one run, and the file has several", {
        hint: `name one with --only: ${evals.map((run) => run.name).join(", ")}`,
      });
    if ((await store.runs.find(resume)) === null)
      throw new RolloutError("not_found", `no run "${resume}" in ${store.location}`);
    return resume;
  }
  return await findLastUnfinished(store, name);
}

/** Undefined, and so a new run, when the last one of that name is finished. */
async function findLastUnfinished(store: Store, name: string): Promise<string | undefined> {
  for (let after: string | null = null; ;) {
    const { entries, next } = await store.runs.list({ kind: "dataset" }, { after, limit: 100 });
    const last = entries.find((run) => run.name === name);
    if (last !== undefined) return last.isFinished ? undefined : last.id;
    if (next === null) return undefined;
    after = next;
  }
}
