import { figureText } from "./describe-budget.ts";
import type { Budget } from "./config/job.ts";

/** Where a job stands that is not whole, for what it takes to go on with it. */
export interface BudgetStand {
  readonly budget: Budget;
  /** In all sessions so far. */
  readonly spent: { readonly costUsd: number; readonly wallSec: number; readonly tokens: number };
  readonly finished: number;
  readonly left: number;
  /** The most that the deadlines of what is left come to; null when unknown. */
  readonly deadlineSec: number | null;
}

/** A limit that is spent, and the one that lets the job go on. */
export interface RaisedLimit {
  /** As the job file calls it: `wall_sec`. */
  readonly name: string;
  readonly limit: number;
  readonly spent: number;
  readonly raised: number;
  /** `2 of 3 trials are left, and at the rate so far the job needs about 3 in all` */
  readonly reason: string;
}

// Sessions are recorded to the millisecond.
const slack = 0.001;
// Where nothing was measured, a limit should at least let something be.
const leastSec = 60;
const spare = 1.2;

/** Every limit that is spent, with one that is at least twice as large and enough for what is left at the rate so far. */
export function raiseBudget({ budget, spent, finished, left, deadlineSec }: BudgetStand): RaisedLimit[] {
  const rows = [
    { name: "cost_usd", limit: budget.costUsd, used: spent.costUsd, ahead: null, least: 0 },
    { name: "wall_sec", limit: budget.wallSec, used: spent.wallSec + slack, ahead: deadlineSec, least: leastSec },
    { name: "tokens", limit: budget.tokens, used: spent.tokens, ahead: null, least: 0 },
  ];
  const trials = `${left} of ${finished + left} trials ${left === 1 ? "is" : "are"} left`;
  return rows.flatMap(({ name, limit, used, ahead, least }): RaisedLimit[] => {
    if (limit === null || used < limit || left === 0) return [];
    const rate = finished > 0 ? (used * (finished + left)) / finished : null;
    const need = rate ?? (ahead === null ? Math.max(used, least) : used + ahead);
    const raised = roundUp(Math.max(limit * 2, need * spare), name === "tokens");
    const why =
      rate !== null
        ? `and at the rate so far the job needs about ${figureText(roundUp(rate, name === "tokens"))} in all`
        : ahead !== null
          ? `and their deadlines allow ${figureText(ahead)}`
          : "and how much they need is not known";
    const about = { name, limit, spent: used - (name === "wall_sec" ? slack : 0), raised };
    return [{ ...about, reason: `${trials}, ${why}` }];
  });
}

/** Why a job stopped that its budget stopped, a line for each limit. */
export function describeRaised(raised: readonly RaisedLimit[]): string[] {
  return raised.map(
    ({ name, limit, spent, reason }) =>
      `budget.${name}: ${figureText(spent)} of ${figureText(limit)} is spent; ${reason}`,
  );
}

// Two digits are enough for a guess.
function roundUp(value: number, isWhole: boolean): number {
  const unit = 10 ** (Math.floor(Math.log10(value)) - 1);
  const rounded = Number((Math.ceil(value / unit - 1e-9) * unit).toPrecision(12));
  return isWhole ? Math.ceil(rounded) : rounded;
}
