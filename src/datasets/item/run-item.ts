import type { Clock } from "../../base/clock.ts";
import type { JsonObject } from "../../base/json.ts";
import { messageOf } from "../../base/rollout-error.ts";
import { startDeadline } from "../../engine/deadline.ts";
import type { RunRules } from "../check-run-config.ts";
import type { ItemUnit } from "../items/unit-stream.ts";
import { leaveUnscored, runScorersForItem } from "../scorers/run-scorers.ts";
import type { ScorerChoice } from "../scorers/scorer-choice.ts";
import type { ResolvedScorer } from "../scorers/resolve-scorers.ts";
import type { ItemWithScores, ScorerResult } from "../summary.ts";
import { failed } from "../targets/execution-result.ts";
import type { ResolvedTarget } from "../targets/target.ts";
import { callUntilDone, type RetryHelp, type TriedResult } from "./call-until-done.ts";
import type { HeldTime } from "./held-time.ts";
import { readErrorDetails } from "./error-details.ts";
import { ItemSpan } from "./item-span.ts";

/** What running an item takes, the same for all items of a run. */
export interface ItemGround {
  readonly runId: string;
  readonly clock: Clock;
  readonly held: HeldTime;
  readonly random: () => number;
  readonly rules: RunRules;
  readonly target: ResolvedTarget;
  readonly scorers: ScorerChoice;
  /** Ends with the run. */
  readonly signal: AbortSignal;
  readonly warn: (message: string) => void;
}

/** Runs one item under its one deadline: the target with its retries, then the scorers. Never throws. */
export async function runItem(
  unit: ItemUnit,
  ground: ItemGround,
  onRetry: RetryHelp["onRetry"],
): Promise<ItemWithScores> {
  const { clock, rules, signal } = ground;
  const span = new ItemSpan({ runId: ground.runId, target: ground.target, unit });
  const begin = { at: clock.now(), monotonic: clock.monotonic() };
  // Without a limit of its own an item needs no signal of its own.
  using deadline =
    rules.itemTimeoutMs === null
      ? null
      : startDeadline({ clock, limitMs: rules.itemTimeoutMs, parent: signal, what: `item "${unit.item.id}"` });
  const itemSignal = deadline?.signal ?? signal;
  const finding = findScorers(unit, ground);
  const { scorers, failure } = finding instanceof Promise ? await finding : finding;
  const trying: Promise<TriedResult> | TriedResult =
    failure !== null
      ? { execution: failed(failure, null), retryCount: 0 }
      : span.within(() =>
          callUntilDone(
            { target: ground.target, item: unit.item, repeat: unit.repeat, signal: itemSignal, warn: ground.warn },
            rules,
            { clock, held: ground.held, random: ground.random, onRetry },
          ),
        );
  const tried = trying instanceof Promise ? await trying : trying;
  // No clock is good for more digits, and each of them would be printed.
  const durationMs = Math.round((clock.monotonic() - begin.monotonic) * 1000) / 1000;
  const marking = span.within(() => mark(unit, tried, scorers, { ground, signal: itemSignal, durationMs }));
  const scores = marking instanceof Promise ? await marking : marking;
  // What was done before the end of the run counts; what the end cut off runs again.
  const wasCut = signal.aborted && (tried.execution.error !== null || scores.some(({ error }) => error !== null));
  const result = describe(unit, tried, {
    scores,
    begin: begin.at,
    end: clock.now(),
    durationMs,
    spanTrace: span.traceId,
    wasCut,
  });
  span.end(result, scores);
  return result;
}

interface FoundScorers {
  readonly scorers: readonly ResolvedScorer[];
  readonly failure: string | null;
}

/** Most are known before the start; only those of single items may have to be waited for. */
function findScorers({ item }: ItemUnit, { scorers }: ItemGround): FoundScorers | Promise<FoundScorers> {
  const chosen = scorers.forItem(item);
  if (!(chosen instanceof Promise)) return { scorers: chosen, failure: null };
  return chosen.then(
    (found) => ({ scorers: found, failure: null }),
    (thrown: unknown) => ({ scorers: [], failure: `its scorers cannot be found: ${messageOf(thrown)}` }),
  );
}

interface MarkHelp {
  readonly ground: ItemGround;
  readonly signal: AbortSignal;
  readonly durationMs: number;
}

function mark(
  { item }: ItemUnit,
  { execution }: TriedResult,
  scorers: readonly ResolvedScorer[],
  { ground, signal, durationMs }: MarkHelp,
): Promise<readonly ScorerResult[]> | readonly ScorerResult[] {
  const { output, error, scorerInput, scorerOutput, usage } = execution;
  if (error !== null && !ground.rules.scoreFailed) return leaveUnscored(scorers, "the item failed");
  return runScorersForItem(scorers, {
    input: scorerInput ?? item.input,
    output: scorerOutput ?? output,
    groundTruth: item.expectedOutput,
    itemId: item.id,
    metadata: item.metadata ?? {},
    durationMs,
    usage,
    error: error?.message ?? null,
    signal,
  });
}

// One for all: a run may keep millions of results.
const noMetadata: JsonObject = Object.freeze({});

interface DescribeHelp {
  readonly scores: readonly ScorerResult[];
  readonly begin: number;
  readonly end: number;
  readonly durationMs: number;
  readonly spanTrace: string | null;
  readonly wasCut: boolean;
}

function describe(
  { index, item, repeat }: ItemUnit,
  { execution, retryCount }: TriedResult,
  { scores, begin, end, durationMs, spanTrace, wasCut }: DescribeHelp,
): ItemWithScores {
  const { output, error, traceId, usage } = execution;
  const message = error?.message ?? (wasCut ? "the run ended while the item was being scored" : null);
  return {
    index,
    itemId: item.id,
    itemVersion: item.version,
    repeat,
    input: item.input,
    output,
    expectedOutput: item.expectedOutput,
    metadata: item.metadata ?? noMetadata,
    error: message,
    errorDetails: error === null ? null : readErrorDetails(error.thrown),
    isInterrupted: wasCut,
    startedAt: new Date(begin),
    completedAt: new Date(end),
    durationMs,
    retryCount,
    traceId: traceId ?? spanTrace,
    usage,
    scores,
    persistenceError: null,
  };
}
