import { displayWidth, fitMiddle, fitWidth, padEnd, padStart, plainText } from "../base/terminal-text.ts";
import { elapsedText, groupDigits } from "./number-text.ts";
import type { RunningUnit, RunProgress } from "./run-progress.ts";
import { etaText, statusParts, stoppingText } from "./status-parts.ts";
import type { Style } from "./style.ts";
import { joinParts } from "./text-table.ts";

export interface FrameSize {
  readonly columns: number;
  readonly rows: number;
}

// Lines of the block that are not about one unit, and the one the cursor rests on.
const otherRows = 4;
const staleActivityMs = 15_000;

/** The lines of the live block: always fewer than the rows of the screen, never wider than its columns. */
export function renderFrame(progress: RunProgress, size: FrameSize, nowMs: number, style: Style): string[] {
  // The last column stays free: some terminals wrap as soon as it is written.
  const columns = Math.max(1, size.columns - 1);
  const [counts = ""] = joinParts(statusParts(progress, style), style.signs.separator, columns);
  const lines = [
    renderOverall(progress, columns, nowMs, style),
    counts,
    ...renderStatus(progress, columns, nowMs, style),
    ...renderUnits(progress, columns, Math.max(0, size.rows - otherRows), nowMs, style),
  ];
  return lines.slice(0, Math.max(0, size.rows - 1));
}

function renderOverall(progress: RunProgress, columns: number, nowMs: number, style: Style): string {
  const name = columns < 60 ? "" : fitWidth(plainText(progress.run?.name ?? ""), 24);
  const done = `${groupDigits(progress.finished)}/${groupDigits(progress.total)}`;
  const elapsed = elapsedText((nowMs - progress.startedMs) / 1000);
  const numbers = [done, elapsed, etaText(progress, nowMs, style)].join(style.signs.separator);
  const room = columns - displayWidth(numbers) - 1 - (name === "" ? 0 : displayWidth(name) + 1);
  const bar = room < 5 ? "" : `${renderBar(progress, Math.min(room, 40), style)} `;
  return `${name === "" ? "" : `${style.bold(name)} `}${bar}${fitWidth(numbers, columns)}`;
}

/** Passed, not passed and failed in their colours, then what is left. */
function renderBar(progress: RunProgress, cells: number, style: Style): string {
  const { span, track } = style.signs;
  const at = (count: number): number => (progress.total === 0 ? 0 : Math.floor((count / progress.total) * cells));
  const passed = at(progress.passed);
  const scored = at(progress.finished - progress.failed);
  const finished = at(progress.finished);
  return (
    style.green(span.repeat(passed)) +
    style.yellow(span.repeat(scored - passed)) +
    style.red(span.repeat(finished - scored)) +
    style.dim(track.repeat(cells - finished))
  );
}

function renderStatus(progress: RunProgress, columns: number, nowMs: number, style: Style): string[] {
  if (progress.stopping) {
    const noun = progress.run?.shape.unitNoun ?? "unit";
    const rest = stoppingText(progress.running.size, noun, progress.stopping.isTerminating);
    const parts = [
      { text: `stopping: ${progress.stopping.reason}`, paint: style.yellow },
      { text: rest },
      { text: elapsedText((nowMs - progress.stopping.sinceMs) / 1000) },
    ];
    return joinParts(parts, style.signs.separator, columns).slice(0, 1);
  }
  const { activity } = progress;
  if (!activity || activity.line === "" || nowMs - activity.atMs > staleActivityMs) return [];
  return [style.dim(fitWidth(activity.line, columns))];
}

function renderUnits(progress: RunProgress, columns: number, room: number, nowMs: number, style: Style): string[] {
  const shown = progress.running.size > room ? Math.max(0, room - 1) : progress.running.size;
  const lines: string[] = [];
  // The oldest come first: what takes longest is what people look for.
  for (const unit of progress.running.values()) {
    if (lines.length >= shown) break;
    lines.push(renderUnit(unit, progress, columns, nowMs, style));
  }
  const hidden = progress.running.size - shown;
  if (hidden > 0 && room > 0) lines.push(style.dim(fitWidth(`  + ${groupDigits(hidden)} more`, columns)));
  return lines;
}

function renderUnit(unit: RunningUnit, progress: RunProgress, columns: number, nowMs: number, style: Style): string {
  const elapsed = ` ${padStart(elapsedText((nowMs - unit.startedMs) / 1000), 6)}`;
  const waits = unit.retry ? retryText(unit.retry, nowMs) : null;
  const phaseWidth = Math.min(Math.max(progress.longestPhase, 14), 20);
  const share = Math.max(16, Math.floor(columns * 0.4));
  const room = columns - 2 - displayWidth(elapsed);
  const withPhase = room >= Math.min(share, progress.longestShortName) + 2 + phaseWidth;
  const name = fitName(unit, progress, withPhase ? share : room);
  const phase = withPhase ? `  ${padEnd(fitWidth(waits ?? unit.phase, phaseWidth), phaseWidth)}` : "";
  const rest = room - displayWidth(name) - displayWidth(phase) - 2;
  const line = rest < 8 ? "" : fitWidth(unit.retry?.reason ?? unit.line, rest);
  const painted = waits === null ? style.cyan(phase) : style.yellow(phase);
  return `  ${name}${painted}${elapsed}${line === "" ? "" : `  ${style.dim(line)}`}`;
}

/** All names in the form and the width that fits the longest of them. */
function fitName(unit: RunningUnit, progress: RunProgress, most: number): string {
  const full = progress.longestName <= most;
  const width = Math.min(full ? progress.longestName : progress.longestShortName, most);
  return padEnd(fitMiddle(full ? unit.name : unit.shortName, width), width);
}

function retryText(retry: NonNullable<RunningUnit["retry"]>, nowMs: number): string {
  const left = Math.ceil((retry.untilMs - nowMs) / 1000);
  return left > 0 ? `try ${retry.tries + 1} in ${elapsedText(left)}` : `try ${retry.tries + 1} now`;
}
