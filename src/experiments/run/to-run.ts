import type { Run, RunShape } from "../../store/run.ts";
import { describeNotes, toRunScore } from "../output/describe-run.ts";
import { detailsOf, isComplete } from "../output/summary-json.ts";
import type { ExperimentSummary } from "./experiment-tally.ts";

export interface RunState {
  readonly status: "running" | ExperimentSummary["status"];
  readonly summary: ExperimentSummary;
  /** What this session has counted. */
  readonly counted: Pick<Run, "counts" | "headline" | "unknownSpends">;
  readonly shape: RunShape;
  /** Remarks for people that the caller gave. */
  readonly notes: readonly string[];
  /** Outputs of earlier sessions are scored, and nothing is run. */
  readonly isScoring: boolean;
  readonly now: number;
}

/** Returns an experiment in its present state. `run` is the experiment as it was stored before this session. */
export function toRun(run: Run, state: RunState): Run {
  const { status, summary, counted, shape, notes } = state;
  // A resumed experiment has the counts of its earlier sessions until the first run is counted.
  const isCounted = status !== "running" || counted.counts.finished > 0;
  return {
    ...run,
    ...(status === "running" ? runningState(run, state) : endState(run, state)),
    ...(isCounted ? counted : {}),
    shape,
    scores: summary.aggregates.map((answer) => toRunScore(answer, summary.scorings)),
    warnings: summary.warnings,
    notes: [...notes, ...describeNotes(summary)],
    details: isCounted ? { ...run.details, ...detailsOf(summary) } : run.details,
  };
}

type LifeFacts = Pick<Run, "status" | "isResumable" | "endedAt" | "sessions" | "owner" | "error">;

function runningState(run: Run, { summary }: RunState): LifeFacts {
  const sessions = summary.sessions.map((session, at) =>
    at < run.sessions.length ? session : { ...session, endedAt: null },
  );
  return { status: "running", isResumable: true, endedAt: null, sessions, owner: run.owner, error: null };
}

function endState(run: Run, { status, summary, isScoring, now }: RunState): LifeFacts {
  const end = { isResumable: !isComplete(summary), sessions: summary.sessions, owner: null };
  if (!isScoring) return { ...end, status, endedAt: now, error: summary.error };
  // Scoring runs nothing, so an experiment that did not run everything is as far as it was before.
  if (summary.skipped > 0) return { ...end, status: run.status, endedAt: run.endedAt, error: run.error };
  return { ...end, status, endedAt: run.endedAt ?? now, error: summary.error };
}
