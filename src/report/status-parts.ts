import { plainText } from "../base/terminal-text.ts";
import { costText, countText, elapsedText, groupDigits, markText, percentText } from "./number-text.ts";
import type { RunProgress } from "./run-progress.ts";
import type { Style } from "./style.ts";
import type { Cell } from "./text-table.ts";

/** How far a run is, in parts, the most important first. */
export function statusParts(progress: RunProgress, style: Style): Cell[] {
  const count = (number: number, word: string, paint?: (text: string) => string): Cell[] =>
    number > 0 ? [{ text: `${groupDigits(number)} ${word}`, paint }] : [];
  const active = progress.countActive();
  return [
    ...(progress.isPaused ? [{ text: "paused", paint: style.yellow }] : []),
    ...headlineParts(progress),
    ...count(progress.failed, "failed", style.red),
    ...count(progress.excluded, "not counted", style.yellow),
    ...count(progress.finished - progress.scored - progress.failed, "done"),
    { text: `${groupDigits(active)} running` },
    ...count(progress.running.size - active, "retrying", style.yellow),
    ...metricParts(progress),
    ...costParts(progress),
  ];
}

/** `pass 65% (13 of 20)` */
function headlineParts({ passed, counted, run }: RunProgress): Cell[] {
  if (counted === 0 || run === null || run.shape.scoreName === "") return [];
  return [{ text: `pass ${percentText(passed / counted)} (${groupDigits(passed)} of ${groupDigits(counted)})` }];
}

/** What becomes of the units that still run when a run stops. */
export function stoppingText(running: number, noun: string, isTerminating: boolean): string {
  if (running === 0) return isTerminating ? "all cleaned up" : "nothing is left running";
  return isTerminating ? `cleaning up ${countText(running, noun)}` : `letting ${countText(running, noun)} finish`;
}

function metricParts(progress: RunProgress): Cell[] {
  return (progress.run?.plan.metrics ?? []).flatMap((name) => {
    const value = progress.metric(name);
    return value === null ? [] : [{ text: `${plainText(name)} ${markText(value)}` }];
  });
}

function costParts(progress: RunProgress): Cell[] {
  if (progress.costUsd === 0) return [];
  return [{ text: `${costText(progress.costUsd)}${progress.unknownCosts > 0 ? " + ?" : ""}` }];
}

/** The time that is left: `ETA 8m`, or an ellipsis while nobody can tell. */
export function etaText(progress: RunProgress, nowMs: number, style: Style): string {
  const seconds = progress.estimateSec(nowMs);
  if (seconds === null) return `ETA ${style.signs.ellipsis}`;
  // An estimate with seconds would claim more than it knows.
  if (seconds < 60) return `ETA ${elapsedText(Math.max(5, Math.ceil(seconds / 5) * 5)).replace("1m00s", "1m")}`;
  return `ETA ${elapsedText(Math.ceil(seconds / 60) * 60).replace(/m00s$/, "m")}`;
}
