import type { PlannedBudget } from "../store/run.ts";

/** What a budget allows against what is known ahead, in a line for each limit; what is unknown is called that. */
export function describeBudget(budget: readonly PlannedBudget[], trials: number, concurrency: number): string[] {
  if (budget.length === 0) return [];
  const head = `budget for ${trials} ${trials === 1 ? "trial" : "trials"}, ${concurrency} at once:`;
  return [head, ...budget.map((row) => `  ${row.name} ${figure(row.limit)}: ${describeRow(row).join("; ")}`)];
}

function describeRow(row: PlannedBudget): string[] {
  const { name, spent, atMost, unknown } = row;
  return [
    ...(spent > 0 ? [`${figure(spent)} is spent already`] : []),
    ...(atMost === null ? [] : [describeMost(row, atMost)]),
    ...(unknown.length > 0 ? [`unknown: ${unknown.join(", ")}`] : []),
    ...(name === "wall_sec" ? [] : ["no new trial starts once it is spent"]),
  ];
}

function describeMost({ name, limit, spent }: PlannedBudget, atMost: number): string {
  if (name !== "wall_sec") return `environments cost at most ${figure(atMost)} by their deadlines`;
  const verdict =
    spent + atMost > limit ? "may end the job before all trials have started" : "is enough for every deadline";
  return `the deadlines allow ${figure(atMost)} without retries, so it ${verdict}`;
}

function figure(value: number): string {
  return String(Number(value.toPrecision(6)));
}
