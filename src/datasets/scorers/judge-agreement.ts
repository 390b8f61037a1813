import type { Clock } from "../../base/clock.ts";
import { RolloutError } from "../../base/rollout-error.ts";
import { runStream } from "../../engine/run-stream.ts";
import type { Scorer } from "../../scoring/scorer.ts";
import { measureAgreement, type Agreement, type JudgedItem } from "./measure-agreement.ts";
import { runScorersForItem } from "./run-scorers.ts";

/** An item that a person has marked. */
export interface LabelledItem {
  readonly input?: unknown;
  readonly output: unknown;
  readonly groundTruth?: unknown;
  /** What the judge should say: its score, or the label of its choice. */
  readonly label: number | string;
}

export interface JudgeAgreementOptions {
  readonly judge: Scorer;
  readonly items: readonly LabelledItem[];
  /** How many items are judged at a time. */
  readonly maxConcurrency: number;
  readonly signal: AbortSignal;
  readonly clock: Clock;
}

/** An item on which the judge and the person differ, or that the judge gave no mark. */
export interface Disagreement extends JudgedItem {
  /** Its place among the items. */
  readonly index: number;
  /** Why, or what kept the judge from marking it. */
  readonly reason: string | null;
}

/** How well a judge agrees with people, and where it does not. */
export interface JudgeAgreement extends Agreement {
  readonly disagreements: readonly Disagreement[];
}

/** Lets a judge mark items that people have marked, and compares; rejects when it is aborted. */
export async function judgeAgreement(options: JudgeAgreementOptions): Promise<JudgeAgreement> {
  const { judge, items, maxConcurrency, signal, clock } = options;
  checkItems(items, maxConcurrency);
  const judged: Disagreement[] = [];
  const queue = items.entries();
  await runStream({
    next: () => queue.next().value ?? null,
    limit: Math.min(maxConcurrency, items.length),
    signal,
    clock,
    run: async ([index, item]) => {
      judged[index] = { index, label: item.label, ...(await markOf(judge, item, index, signal)) };
    },
  });
  signal.throwIfAborted();
  const agreement = measureAgreement(judged);
  return { ...agreement, disagreements: judged.filter((item) => measureAgreement([item]).accuracy?.value !== 1) };
}

async function markOf(
  judge: Scorer,
  { input = null, output, groundTruth, label }: LabelledItem,
  index: number,
  signal: AbortSignal,
): Promise<Pick<Disagreement, "mark" | "reason">> {
  let rating: unknown;
  // What a verdict is and what not is decided where runs decide it; only the rating is not kept there.
  const run: Scorer["run"] = async (run) => {
    const verdict = await judge.run(run);
    rating = verdict?.metadata?.["rating"];
    return verdict;
  };
  const item = {
    input,
    output,
    groundTruth,
    itemId: String(index),
    metadata: {},
    durationMs: 0,
    usage: null,
    error: null,
  };
  const [result] = await runScorersForItem([{ id: judge.id, name: judge.id, run }], { ...item, signal });
  if (result === undefined || result.score === null)
    return { mark: null, reason: result?.error ?? result?.reason ?? null };
  const mark = typeof label === "number" ? result.score : typeof rating === "string" ? rating : null;
  return { mark, reason: mark === null ? "the judge does not choose among labels" : result.reason };
}

function checkItems(items: readonly LabelledItem[], maxConcurrency: number): void {
  const refuse = (message: string): never => {
    throw new RolloutError("usage_invalid", message);
  };
  if (items.length === 0) refuse("there are no labelled items");
  if (!Number.isInteger(maxConcurrency) || maxConcurrency < 1)
    refuse(`maxConcurrency must be a whole number of at least 1, got ${maxConcurrency}`);
  const kinds = new Set(items.map(({ label }) => typeof label));
  const isPlain = items.every(({ label }) => typeof label === "string" || Number.isFinite(label));
  if (kinds.size > 1 || !isPlain) refuse("labels must be all finite numbers, or all texts");
}
