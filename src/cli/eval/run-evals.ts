import { randomUUID } from "node:crypto";
import { readOwner } from "../../base/process-owner.ts";
import { RolloutError } from "../../base/rollout-error.ts";
import type { RunConfig } from "../../datasets/run-config.ts";
import { runDataset } from "../../datasets/run-dataset.ts";
import type { DatasetRunEvent } from "../../datasets/run-voice.ts";
import type { RunSummary } from "../../datasets/summary.ts";
import { followSignals } from "../../engine/follow-signals.ts";
import type { RunListener } from "../../store/run.ts";
import type { Store } from "../../store/store.ts";
import type { CliContext } from "../cli-context.ts";
import { findRun } from "../find-run.ts";
import { findUnfinished } from "./find-unfinished.ts";
import type { NamedEval } from "./load-evals.ts";

/** How the runs of a file are run. */
export interface EvalsWish {
  readonly evals: readonly NamedEval[];
  /** Null when nothing is to be stored. */
  readonly store: Store | null;
  /** An unfinished run to go on with: its id, or true for the last one of each name. */
  readonly resume: string | boolean;
  readonly resumeCommand: string | null;
  /** What the next command needs to mean the same store. */
  readonly storeWords: string;
  readonly onEvent: RunListener;
  readonly say: (line: string) => void;
  readonly signal: AbortSignal;
}

/** One run and what became of it. */
export interface EvalRun {
  readonly name: string;
  readonly summary: RunSummary;
}

/** A run that is to be begun, or taken up when it has an id. */
interface PlannedEval extends NamedEval {
  readonly runId: string | undefined;
  readonly session: string;
}

/** Runs one after the other; stops after the one during which the signal came, and says what was not begun. */
export async function runEvals(
  wish: EvalsWish,
  { host, clock }: Pick<CliContext, "host" | "clock">,
): Promise<EvalRun[]> {
  const ground = { clock, owner: readOwner(host), random: Math.random };
  const runs: EvalRun[] = [];
  for (const planned of await planEvals(wish)) {
    if (wish.signal.aborted) {
      wish.say(`${planned.name} was not begun`);
      continue;
    }
    runs.push({ name: planned.name, summary: await runOne(planned, wish, ground) });
  }
  return runs;
}

async function runOne(
  { name, config, runId, session }: PlannedEval,
  wish: EvalsWish,
  ground: Parameters<typeof runDataset>[1],
): Promise<RunSummary> {
  let startedId = "";
  using signal = followSignals([wish.signal, config.signal]);
  return await runDataset(
    {
      ...config,
      name,
      storage: config.storage ?? wish.store ?? undefined,
      runId,
      signal: signal.signal,
      retainResults: config.retainResults ?? false,
      metadata: { ...config.metadata, session },
      onEvent: (event) => {
        if (event.type === "run_started") startedId = event.run.id;
        return tell(event, wish, config, startedId);
      },
    },
    ground,
  );
}

async function tell(event: DatasetRunEvent, wish: EvalsWish, config: RunConfig, runId: string): Promise<void> {
  await config.onEvent?.(event);
  if (event.type !== "run_finished") return wish.onEvent(event);
  wish.onEvent({ ...event, tail: { ...event.tail, next: await nextCommands(event.tail.status, wish, runId) } });
}

async function nextCommands(
  status: string,
  { store, resumeCommand, storeWords }: EvalsWish,
  runId: string,
): Promise<string[]> {
  if (store === null) return [];
  const show = `rollout show ${runId}${storeWords}`;
  // A run that came to its end is not finished while results of it could not be stored.
  const isLeft = status !== "completed" || (await isUnfinished(store, runId));
  return isLeft && resumeCommand !== null ? [resumeCommand, show] : [show];
}

async function isUnfinished({ runs }: Store, runId: string): Promise<boolean> {
  const run = await runs.find(runId).catch(() => null);
  return run?.isFinished === false;
}

async function planEvals(wish: EvalsWish): Promise<PlannedEval[]> {
  const { evals, resume, store, say } = wish;
  const session = randomUUID();
  if (resume === false) return evals.map((one) => ({ ...one, runId: one.config.runId, session }));
  if (store === null) throw new RolloutError("usage_invalid", "--resume needs a store to find the run in");
  if (typeof resume === "string") return [await planNamed(resume, wish, store)];
  const { unfinished, finished } = await findUnfinished(
    store,
    evals.map(({ name }) => name),
  );
  if (unfinished.size === 0) say("there is no unfinished run; beginning a new one");
  return evals.flatMap((one) => {
    const run = unfinished.get(one.name);
    const isDone = run === undefined && finished.has(one.name);
    if (isDone) say(`${one.name} is finished already and stays as it is`);
    return isDone ? [] : [{ ...one, runId: run?.id, session: textOf(run?.metadata["session"]) ?? session }];
  });
}

async function planNamed(word: string, { evals }: EvalsWish, store: Store): Promise<PlannedEval> {
  const run = await findRun(store, word);
  const one = evals.find(({ name }) => name === run.name) ?? (evals.length === 1 ? evals[0] : undefined);
  if (one === undefined)
    throw new RolloutError("usage_invalid", `run "${run.id}" is called "${run.name}", and the file has no such run`, {
      hint: `it has: ${evals.map(({ name }) => name).join(", ")}`,
    });
  return { ...one, runId: run.id, session: textOf(run.metadata["session"]) ?? randomUUID() };
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}
