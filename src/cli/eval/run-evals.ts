import { randomUUID } from "node:crypto";
import { readOwner } from "../../base/process-owner.ts";
import { RolloutError } from "../../base/rollout-error.ts";
import type { RunConfig } from "../../datasets/run-config.ts";
import { runDataset } from "../../datasets/run-dataset.ts";
import type { RunSummary } from "../../datasets/summary.ts";
import { followSignals } from "../../engine/follow-signals.ts";
import { findRun } from "../../store/find-run.ts";
import type { Run, RunEvent, RunListener, RunOrigin } from "../../store/run.ts";
import type { Store } from "../../store/store.ts";
import type { CliContext } from "../cli-context.ts";
import { findUnfinished, sessionOf } from "./find-unfinished.ts";
import type { NamedEval } from "./load-evals.ts";

/** How the runs of a file are run. */
export interface EvalsRequest {
  readonly evals: readonly NamedEval[];
  /** Null when nothing is to be stored. */
  readonly store: Store | null;
  /** An unfinished run to go on with: its id, or true for the last one of each name. */
  readonly resume: string | boolean;
  readonly resumeCommand: string | null;
  /** The file of the evals, as a person would type it. */
  readonly file: string;
  /** What the next command needs to mean the same store. */
  readonly storeWords: string;
  readonly onEvent: RunListener;
  readonly say: (line: string) => void;
  readonly origin: RunOrigin;
  readonly signal: AbortSignal;
}

/** A run that ended. */
export interface EvalRun {
  readonly name: string;
  readonly summary: RunSummary;
  readonly run: Run;
}

/** A run that is to be begun, or taken up when it has an id. */
interface PlannedEval extends NamedEval {
  readonly runId: string | undefined;
  readonly session: string;
}

/** Runs one after the other; stops after the one during which the signal came, and says what was not begun. */
export async function runEvals(
  request: EvalsRequest,
  { host, clock }: Pick<CliContext, "host" | "clock">,
): Promise<EvalRun[]> {
  const context = { clock, owner: readOwner(host), origin: request.origin, random: Math.random };
  const runs: EvalRun[] = [];
  for (const planned of await planEvals(request)) {
    if (request.signal.aborted) {
      request.say(`${planned.name} was not begun`);
      continue;
    }
    runs.push({ name: planned.name, ...(await runOne(planned, request, context)) });
  }
  return runs;
}

async function runOne(
  { name, config, runId, session }: PlannedEval,
  request: EvalsRequest,
  context: Parameters<typeof runDataset>[1],
): Promise<Omit<EvalRun, "name">> {
  let run: Run | null = null;
  using signal = followSignals([request.signal, config.signal]);
  const summary = await runDataset(
    {
      ...config,
      name,
      storage: config.storage ?? request.store ?? undefined,
      runId,
      signal: signal.signal,
      retainResults: config.retainResults ?? false,
      metadata: { ...config.metadata, session, file: request.file },
      onEvent: (event) => {
        if (event.type === "run_started" || event.type === "run_finished") run = event.run;
        return report(event, request, config);
      },
    },
    context,
  );
  if (run === null) throw new Error("a run ended without an event");
  return { summary, run };
}

async function report(event: RunEvent, request: EvalsRequest, config: RunConfig): Promise<void> {
  await config.onEvent?.(event);
  request.onEvent(event.type === "run_finished" ? { ...event, next: nextCommands(event.run, request) } : event);
}

function nextCommands({ id, isResumable }: Run, { store, resumeCommand, storeWords }: EvalsRequest): string[] {
  if (store === null) return [];
  const show = `rollout show ${id}${storeWords}`;
  return isResumable && resumeCommand !== null ? [resumeCommand, show] : [show];
}

async function planEvals(request: EvalsRequest): Promise<PlannedEval[]> {
  const { evals, resume, store, say } = request;
  const session = randomUUID();
  if (resume === false) return evals.map((one) => ({ ...one, runId: one.config.runId, session }));
  if (store === null) throw new RolloutError("usage_invalid", "--resume needs a store to find the run in");
  if (typeof resume === "string") return [await planNamed(resume, request, store)];
  const { unfinished, finished } = await findUnfinished(
    store,
    evals.map(({ name }) => name),
  );
  if (unfinished.size === 0) say("there is no unfinished run; beginning a new one");
  return evals.flatMap((one) => {
    const run = unfinished.get(one.name);
    const isDone = run === undefined && finished.has(one.name);
    if (isDone) say(`${one.name} is finished already and stays as it is`);
    return isDone ? [] : [{ ...one, runId: run?.id, session: sessionOf(run) ?? session }];
  });
}

async function planNamed(word: string, { evals }: EvalsRequest, store: Store): Promise<PlannedEval> {
  const run = await findRun(store.runs, word);
  const one = evals.find(({ name }) => name === run.name) ?? (evals.length === 1 ? evals[0] : undefined);
  if (one === undefined)
    throw new RolloutError("usage_invalid", `run "${run.id}" is called "${run.name}", and the file has no such run`, {
      hint: `it has: ${evals.map(({ name }) => name).join(", ")}`,
    });
  return { ...one, runId: run.id, session: sessionOf(run) ?? randomUUID() };
}
