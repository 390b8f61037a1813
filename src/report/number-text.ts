import { max } from "../analysis/aggregates.ts";

/** A stretch of time in whole seconds at its finest: `7s`, `2m05s`, `1h04m`, `2d03h`. */
export function elapsedText(seconds: number): string {
  const whole = Math.max(0, Math.floor(seconds));
  const pad = (part: number): string => String(part).padStart(2, "0");
  if (whole < 60) return `${whole}s`;
  if (whole < 3600) return `${Math.floor(whole / 60)}m${pad(whole % 60)}s`;
  if (whole < 86_400) return `${Math.floor(whole / 3600)}h${pad(Math.floor((whole % 3600) / 60))}m`;
  return `${Math.floor(whole / 86_400)}d${pad(Math.floor((whole % 86_400) / 3600))}h`;
}

/** A measured duration on its own: milliseconds below a tenth of a second (`8ms`), tenths below ten seconds (`3.4s`), else as a stretch of time. */
export function durationText(seconds: number): string {
  if (seconds <= 0) return "0s";
  return seconds < 0.0995 ? millisecondsText(seconds) : secondsText(seconds);
}

/** How to write durations that are read side by side: all in milliseconds if each is below a second, else none. */
export function durationFormat(shown: Iterable<number>): (seconds: number) => string {
  return (max(shown) ?? 0) < 0.9995 ? millisecondsText : secondsText;
}

/** A wait that lies ahead: `1ms`, `0.2s`, `3s`, `2m05s`. */
export function waitText(ms: number): string {
  return durationText(ms / 1000).replace(/\.0s$/, "s");
}

function millisecondsText(seconds: number): string {
  // What took any time at all is not shown as nothing.
  return seconds > 0 ? `${Math.max(1, Math.round(seconds * 1000))}ms` : "0ms";
}

function secondsText(seconds: number): string {
  const tenths = Math.round(Math.max(0, seconds) * 10) / 10;
  return tenths < 10 ? `${tenths.toFixed(1)}s` : elapsedText(Math.round(seconds));
}

/** US dollars with the digits that matter: `$0`, `<$0.001`, `$0.034`, `$1.23`, `$1,234`. */
export function costText(usd: number): string {
  if (usd === 0) return "$0";
  if (usd < 0.001) return "<$0.001";
  if (usd < 0.0995) return `$${usd.toFixed(3)}`;
  if (usd < 99.995) return `$${usd.toFixed(2)}`;
  return `$${groupDigits(Math.round(usd))}`;
}

/** A rate as whole percent; 0% and 100% are said only when they are exact. */
export function percentText(rate: number): string {
  const percent = Math.round(rate * 100);
  if (percent === 0 && rate > 0) return "<1%";
  if (percent === 100 && rate < 1) return ">99%";
  return `${percent}%`;
}

/** A reward or score: `1.0`, `0.72`, `1,234`. */
export function markText(mark: number): string {
  const size = Math.abs(mark);
  if (size >= 1e9 || (size > 0 && size < 0.005)) return mark.toExponential(1);
  if (size >= 100) return groupDigits(Math.round(mark));
  return Number.isInteger(mark) ? mark.toFixed(1) : mark.toFixed(2);
}

/** A number of things with its noun: `1 trial`, `1,200 trials`. */
export function countText(count: number, noun: string): string {
  return `${groupDigits(count)} ${noun}${count === 1 ? "" : "s"}`;
}

/** A whole number with its thousands apart. */
export function groupDigits(whole: number): string {
  return whole.toLocaleString("en-US", { maximumFractionDigits: 0 });
}
