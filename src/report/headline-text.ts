import type { Run, RunStatus } from "../store/run.ts";
import { markText, percentText } from "./number-text.ts";

/** Returns the headline of a run. For several agents it is the range of theirs: a mean over agents describes none of them. */
export function headlinesText(run: Pick<Run, "headline" | "groups" | "targets">): string {
  const { length } = run.targets;
  if (length < 2 || run.groups.length < 2) return headlineText(run);
  const values = run.groups.flatMap(({ headline }) => headline.value ?? []);
  if (values.length === 0) return "-";
  const [low, high] = [percentText(Math.min(...values)), percentText(Math.max(...values))];
  return `${low === high ? low : `${low.replace("%", "")}–${high}`}, ${length} agents`;
}

/** Returns the headline of a run with its interval: `50% [40, 60]`, `0.81 [0.76, 0.86]`; `-` if there is none. */
function headlineText({ headline }: Pick<Run, "headline">): string {
  if (headline === null || headline.value === null) return "-";
  const isRate = headline.measure === "pass_rate";
  const value = isRate ? percentText(headline.value) : markText(headline.value);
  if (headline.interval === null) return value;
  const bound = (number: number): string => (isRate ? String(Math.round(number * 100)) : markText(number));
  return `${value} [${bound(headline.interval.low)}, ${bound(headline.interval.high)}]`;
}

const statusWords: Readonly<Record<RunStatus, string>> = {
  running: "running",
  paused: "paused",
  completed: "completed",
  cancelled: "cancelled",
  budget_exhausted: "budget",
  interrupted: "interrupted",
  failed: "failed",
};

/** Returns the status of a run in a word. */
export function statusText({ status }: Pick<Run, "status">): string {
  return statusWords[status];
}
