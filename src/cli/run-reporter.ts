import type { Clock } from "../base/clock.ts";
import { plainText } from "../base/terminal-text.ts";
import { createJsonEvents } from "../report/json-events.ts";
import { createLiveDisplay } from "../report/live-display.ts";
import { paramsText } from "../report/params-text.ts";
import { createPlainLines } from "../report/plain-lines.ts";
import { renderSummary } from "../report/render-summary.ts";
import { RunTally } from "../report/run-tally.ts";
import { summarizeTally } from "../report/summarize-tally.ts";
import type { Run, RunEvent, RunListener } from "../store/run.ts";
import type { Terminal } from "./terminal.ts";

export type JsonMode = "final" | "events" | null;

export interface RunReporterOptions {
  readonly terminal: Terminal;
  readonly clock: Clock;
  readonly json: JsonMode;
  readonly quiet: boolean;
}

/** Tells a person or a program how a run goes, in the one way that fits where the output leads. */
export interface RunReporter extends Disposable {
  readonly onEvent: RunListener;
  /** False when nothing becomes of events. */
  readonly isHeard: boolean;
  /** Passes on what code of a person's own printed, above whatever is drawn. */
  readonly print: (line: string) => void;
  /** Says something beside the run's events, above whatever is drawn. */
  readonly say: (line: string) => void;
}

/** Chooses how runs that follow one another are told: live on a terminal, plain lines elsewhere, JSON when asked for. */
export function openRunReporter({ terminal, clock, json, quiet }: RunReporterOptions): RunReporter {
  let progress = quiet ? null : openProgress(terminal, clock);
  const events = json === "events" ? createJsonEvents({ write: terminal.out }) : null;
  const summary = quiet || json !== null ? null : new SummaryKeeper(terminal);
  let isDrawing = progress !== null && terminal.isLive;
  let isOver = false;
  const close = (): void => {
    isDrawing = false;
    isOver = true;
    progress?.close();
  };
  // A progress that was closed says nothing more, so each run after the first has its own.
  const reopen = (): void => {
    if (!isOver || progress === null) return;
    progress = openProgress(terminal, clock);
    isDrawing = terminal.isLive;
    isOver = false;
  };
  const onEvent = (event: RunEvent): void => {
    if (event.type === "run_started") reopen();
    events?.(event);
    progress?.onEvent(event);
    // Plain lines have it in their first.
    if (event.type === "run_started" && isDrawing) tellParams(event.run, print);
    if (event.type === "run_finished") close();
    summary?.onEvent(event);
  };
  const say = (line: string): void => {
    if (isDrawing) progress?.onEvent({ type: "warning", at: clock.now(), message: line });
    else terminal.err(`rollout: ${plainText(line)}\n`);
  };
  const print = (line: string): void => {
    if (isDrawing && progress?.print) progress.print(line);
    else terminal.err(`${plainText(line)}\n`);
  };
  const isHeard = progress !== null || events !== null || summary !== null;
  return { onEvent, isHeard, print, say, [Symbol.dispose]: close };
}

function tellParams({ params }: Run, print: (line: string) => void): void {
  const text = paramsText(params);
  if (text !== "") print(`params ${text}`);
}

interface Progress {
  readonly onEvent: RunListener;
  readonly print?: (line: string) => void;
  close(): void;
}

function openProgress(terminal: Terminal, clock: Clock): Progress {
  return terminal.isLive ? openLive(terminal, clock) : createPlainLines({ write: terminal.err, clock });
}

function openLive(terminal: Terminal, clock: Clock): Progress {
  const display = createLiveDisplay({
    write: terminal.err,
    columns: terminal.columns,
    rows: terminal.rows,
    clock,
    ...terminal.errStyle,
  });
  const resize = terminal.onResize(() => display.resize());
  return {
    onEvent: display.onEvent,
    print: display.print,
    close() {
      resize[Symbol.dispose]();
      display.close();
    },
  };
}

/** Gathers a run's units and prints the summary at its end. */
class SummaryKeeper {
  readonly #terminal: Terminal;
  #tally: RunTally | undefined;

  constructor(terminal: Terminal) {
    this.#terminal = terminal;
  }

  onEvent(event: RunEvent): void {
    if (event.type === "run_started") {
      this.#tally = new RunTally(event.run.shape);
    } else if (event.type === "unit_finished" || event.type === "unit_restored") this.#tally?.add(event.unit);
    else if (event.type === "warning") this.#tally?.addWarning(event.message);
    else if (event.type === "run_finished" && this.#tally)
      printSummary(this.#terminal, event.run, this.#tally, event.next);
  }
}

/** Prints the summary of a run and the commands to type next. */
export function printSummary(terminal: Terminal, run: Run, tally: RunTally, next: readonly string[]): void {
  terminal.out(renderSummary(summarizeTally(tally, run), next, { columns: terminal.columns(), ...terminal.outStyle }));
}
