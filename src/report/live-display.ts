import type { Clock, Timer } from "../base/clock.ts";
import { displayWidth, plainText } from "../base/terminal-text.ts";
import type { RunEvent, RunListener } from "../store/run.ts";
import { finishedLine, warningLine } from "./happening-lines.ts";
import { renderFrame } from "./live-frame.ts";
import { countText } from "./number-text.ts";
import { RunProgress } from "./run-progress.ts";
import { createStyle, type Style } from "./style.ts";

export interface LiveDisplayOptions {
  /** Puts text on the terminal. */
  readonly write: (text: string) => void;
  readonly columns: () => number;
  readonly rows: () => number;
  readonly clock: Clock;
  readonly colour: boolean;
  /** True unless told otherwise. */
  readonly unicode?: boolean | undefined;
}

export interface LiveDisplay {
  readonly onEvent: RunListener;
  /** Lets a line scroll by above the block. */
  readonly print: (line: string) => void;
  /** To be called when the terminal has changed its size. */
  readonly resize: () => void;
  /** Takes the live block away, gives the cursor back and leaves no timer; later calls do nothing. */
  readonly close: () => void;
}

const shortestPauseMs = 100;
const idlePauseMs = 1000;
const mostLinesAtOnce = 20;
const mostToldWarnings = 200;

const hideCursor = "\x1b[?25l";
const showCursor = "\x1b[?25h";
const wrapOff = "\x1b[?7l";
const wrapOn = "\x1b[?7h";

/** A block at the end of the terminal that shows where a run stands, with what happens scrolling by above it. */
export function createLiveDisplay(options: LiveDisplayOptions): LiveDisplay {
  const { clock } = options;
  const style = createStyle({ colour: options.colour, unicode: options.unicode ?? true });
  const progress = new RunProgress();
  const told = new Set<string>();
  let happened: string[] = [];
  let painted: readonly string[] = [];
  let paintedColumns = 0;
  let paintedMs = Number.NEGATIVE_INFINITY;
  let timer: Timer | null = null;
  let hurried = false;
  let closed = false;

  const size = () => ({ columns: positive(options.columns(), 80), rows: positive(options.rows(), 24) });

  const erase = (columns: number): string => {
    if (painted.length === 0) return "\r\x1b[J";
    // A narrower terminal has broken the lines of the last frame, which are then more rows to go up.
    const rows = painted.reduce((total, line) => total + rowsOf(line, columns), 0);
    return `\r\x1b[${columns < paintedColumns ? rows : painted.length}A\x1b[J`;
  };

  const takeHappened = (): string => {
    const lines = happened.slice(0, mostLinesAtOnce);
    const hidden = happened.length - lines.length;
    if (hidden > 0) lines.push(style.dim(`+ ${countText(hidden, "more line")}`));
    happened = [];
    return lines.map((line) => `${style.finish(line)}\n`).join("");
  };

  const paint = (): void => {
    const now = clock.monotonic();
    const { columns, rows } = size();
    const lines = progress.run ? renderFrame(progress, { columns, rows }, now, style).map(style.finish) : [];
    const changed = columns !== paintedColumns || lines.join("\n") !== painted.join("\n");
    if (changed || happened.length > 0) {
      const start = paintedColumns === 0 ? hideCursor : erase(columns);
      options.write(`${start}${takeHappened()}${wrapOff}${lines.map((line) => `${line}\n`).join("")}${wrapOn}`);
      painted = lines;
      paintedColumns = columns;
    }
    paintedMs = now;
    hurried = false;
    schedule(idlePauseMs);
  };

  const schedule = (pauseMs: number): void => {
    timer?.clear();
    timer = clock.startTimer(Math.max(0, paintedMs + pauseMs - clock.monotonic()), paint);
  };

  // Events only bring the next frame forward to the shortest pause; many of them share it.
  const hurry = (): void => {
    if (closed || hurried) return;
    hurried = true;
    schedule(shortestPauseMs);
  };

  return {
    onEvent(event) {
      if (closed) return;
      progress.apply(event, clock.monotonic());
      happened.push(...linesOf(event, progress, told, style));
      hurry();
    },
    print(line) {
      if (closed) return;
      happened.push(plainText(line));
      hurry();
    },
    resize: hurry,
    close() {
      if (closed) return;
      closed = true;
      timer?.clear();
      const start = paintedColumns === 0 ? "" : erase(size().columns);
      const end = paintedColumns === 0 ? "" : showCursor;
      const text = `${start}${takeHappened()}${end}`;
      if (text !== "") options.write(text);
    },
  };
}

/** What stays on the screen for good: warnings, and units that failed. */
function linesOf(event: RunEvent, progress: RunProgress, told: Set<string>, style: Style): string[] {
  if (event.type === "warning") return [warningLine(event.message, style)];
  if (event.type !== "unit_finished" || !progress.run) return [];
  const { unit } = event;
  const failed = unit.failure ? [finishedLine(unit, progress.run.shape, style)] : [];
  // Many units tend to have the same warning; the summary counts them.
  const news = unit.warnings.filter((text) => !told.has(text) && told.size < mostToldWarnings);
  for (const text of news) told.add(text);
  return [...failed, ...news.map((text) => warningLine(`${plainText(unit.key)}: ${text}`, style))];
}

function rowsOf(line: string, columns: number): number {
  return Math.max(1, Math.ceil(displayWidth(plainText(line)) / columns));
}

function positive(value: number, otherwise: number): number {
  return value > 0 ? value : otherwise;
}
