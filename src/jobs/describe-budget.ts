import type { PlannedBudget } from "../store/run.ts";

/** How many trials a budget is for, and how they start. */
export interface BudgetedTrials {
  readonly count: number;
  readonly concurrency: number;
  /** True when none of them waits for another. */
  readonly startAtOnce: boolean;
}

/** What a budget allows against what is known ahead, in a line for each limit; what is unknown is called that. */
export function describeBudget(budget: readonly PlannedBudget[], trials: BudgetedTrials): string[] {
  if (budget.length === 0) return [];
  const { count, concurrency } = trials;
  const head = `budget for ${count} ${count === 1 ? "trial" : "trials"}, ${concurrency} at once:`;
  return [
    head,
    ...budget.map((row) => `  ${row.name} ${figureText(row.limit)}: ${describeRow(row, trials).join("; ")}`),
  ];
}

/** A limit or an amount, without digits that nobody measured. */
export function figureText(value: number): string {
  return String(Number(value.toPrecision(6)));
}

function describeRow(row: PlannedBudget, trials: BudgetedTrials): string[] {
  const { name, spent, limit, atMost, unknown } = row;
  if (spent >= limit) return [`${figureText(spent)} is spent already, so no trial starts`];
  return [
    ...(spent > 0 ? [`${figureText(spent)} is spent already`] : []),
    ...(atMost === null ? [] : [describeMost(row, atMost, trials)]),
    ...(unknown.length > 0 ? [`unknown: ${unknown.join(", ")}`] : []),
    ...(name === "wall_sec" ? [] : ["no new trial starts once it is spent"]),
  ];
}

function describeMost({ name, limit, spent }: PlannedBudget, atMost: number, { startAtOnce }: BudgetedTrials): string {
  if (name !== "wall_sec") return `environments cost at most ${figureText(atMost)} by their deadlines`;
  const allowed = `the deadlines allow ${figureText(atMost)} without retries`;
  if (spent + atMost <= limit) return `${allowed}, so it is enough for every deadline`;
  return startAtOnce
    ? `${allowed}; all trials start at once and may finish, so it ends none of them`
    : `${allowed}, so it may end the job before all trials have started`;
}
