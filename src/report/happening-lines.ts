import { plainText, fitWidth } from "../base/terminal-text.ts";
import { scoreOf, type Failure, type RunEvent, type RunShape, type Unit } from "../store/run.ts";
import { durationText, markText, waitText } from "./number-text.ts";
import { originOf } from "./failure-origin.ts";
import type { Style } from "./style.ts";
import { unitNames } from "./unit-names.ts";

// Enough to see a cause, short enough that one failure does not fill a screen.
const longestMessage = 400;

/** What became of a unit: `pass cpe tb/chess #1 1.0 34s`, or `failed …` with its reason. */
export function finishedLine(unit: Unit, shape: RunShape, style: Style): string {
  const name = unitNames(unit.labels, shape).full || plainText(unit.key);
  const mark = scoreOf(unit, shape.scoreName);
  const time = durationText(unit.durationSec);
  const end = unit.failure ? reasonText(unit.failure, style) : "";
  if (mark === null && unit.failure) return `${style.red("failed")} ${name} ${time}${end}`;
  if (mark === null) return `done ${name} ${time}`;
  const verdict = mark >= shape.passAt ? style.green("pass") : style.yellow("not passed");
  return `${verdict} ${name} ${markText(mark)} ${time}${end}`;
}

/** A warning on one line. */
export function warningLine(message: string, style: Style): string {
  return `${style.yellow("warning")} ${fitWidth(plainText(message), longestMessage)}`;
}

/** A try that failed and when the next one comes. */
export function retryLine(name: string, event: RunEvent & { readonly type: "unit_retry" }, style: Style): string {
  const when = event.waitMs > 0 ? `in ${waitText(event.waitMs)}` : "now";
  return `${style.yellow("retry")} ${name} try ${event.tries + 1} ${when}${reasonText(event.failure, style)}`;
}

function reasonText(failure: Failure, style: Style): string {
  const origin = originOf(failure);
  const reason = plainText(`${failure.type}${origin === null ? "" : ` (${origin})`}: ${failure.message}`);
  return ` ${style.signs.dash} ${fitWidth(reason, longestMessage)}`;
}
