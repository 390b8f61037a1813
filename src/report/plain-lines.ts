import type { Clock, Timer } from "../base/clock.ts";
import { plainText } from "../base/terminal-text.ts";
import type { RunEvent, RunListener } from "../store/run.ts";
import { FinishBurst } from "./finish-burst.ts";
import { finishedLine, retryLine, warningLine } from "./happening-lines.ts";
import { countText, elapsedText } from "./number-text.ts";
import { paramsText } from "./params-text.ts";
import { RunProgress } from "./run-progress.ts";
import { etaText, statusParts, stoppingText } from "./status-parts.ts";
import { createStyle } from "./style.ts";

export interface PlainLinesOptions {
  /** Takes whole lines. */
  readonly write: (text: string) => void;
  readonly clock: Clock;
}

export interface PlainLines {
  readonly onEvent: RunListener;
  /** Says what is still to be said and leaves no timer; later calls do nothing. */
  readonly close: () => void;
}

const statusPauseMs = 10_000;
const heartbeatMs = 60_000;
const mostWarnings = 200;

/** Progress for logs: a line when something happens, and a status line now and then. */
export function createPlainLines({ write, clock }: PlainLinesOptions): PlainLines {
  const style = createStyle({ colour: false, unicode: false });
  const progress = new RunProgress();
  const told = new Set<string>();
  let statusTimer: Timer | null = null;
  let statusMs = 0;
  let saidMs = 0;
  let changed = false;
  let closed = false;

  const say = (line: string): void => {
    saidMs = clock.monotonic();
    write(`${style.finish(line)}\n`);
  };
  const sayNumbered = (line: string): void => say(`[${progress.finished}/${progress.total}] ${line}`);
  const burst = new FinishBurst(clock, sayNumbered);

  const sayStatus = (): void => {
    const now = clock.monotonic();
    if ((changed && now - saidMs >= statusPauseMs) || now - statusMs >= heartbeatMs) {
      const parts = statusParts(progress, style).map(({ text }) => text);
      const times = [elapsedText((now - progress.startedMs) / 1000), etaText(progress, now, style)];
      const activity = progress.activity && progress.activity.atMs >= statusMs ? [progress.activity.line] : [];
      sayNumbered([...parts, ...times, ...activity].join(style.signs.separator));
      statusMs = now;
      changed = false;
    }
    statusTimer = clock.startTimer(statusPauseMs, sayStatus);
  };

  const warn = (message: string): void => {
    if (told.has(message) || told.size >= mostWarnings) return;
    told.add(message);
    say(warningLine(message, style));
  };

  const tell = (event: RunEvent): void => {
    if (event.type === "run_started") {
      const { run } = event;
      const what = `${countText(run.plan.total, run.shape.unitNoun)}, ${run.plan.concurrency} at a time`;
      const where = run.location === "" ? "" : `, results in ${plainText(run.location)}`;
      const params = paramsText(run.params);
      say(`${plainText(run.name)}: ${what}${where}${params === "" ? "" : `, params ${params}`}`);
      statusMs = clock.monotonic();
      statusTimer?.clear();
      statusTimer = clock.startTimer(statusPauseMs, sayStatus);
    } else if (event.type === "unit_finished" && progress.run) {
      const { shape } = progress.run;
      burst.add(event.unit, shape, () => finishedLine(event.unit, shape, style));
      for (const text of event.unit.warnings) warn(text);
    } else if (event.type === "unit_retry") {
      const name = progress.running.get(event.key)?.name ?? plainText(event.key);
      burst.addRetry(() => retryLine(name, event, style));
    } else if (event.type === "warning") warn(event.message);
    else if (event.type === "run_paused") sayNumbered("paused: what runs goes on, nothing new starts");
    else if (event.type === "run_continued") sayNumbered("continued");
    else if (event.type === "run_stopping") {
      const rest = stoppingText(event.running, progress.run?.shape.unitNoun ?? "unit", event.isTerminating);
      sayNumbered(`stopping: ${plainText(event.reason)}${event.running > 0 ? `, ${rest}` : ""}`);
    }
  };

  const close = (): void => {
    if (closed) return;
    closed = true;
    statusTimer?.clear();
    burst.end();
  };

  return {
    onEvent(event) {
      if (closed) return;
      progress.apply(event, clock.monotonic());
      if (event.type !== "unit_activity" && event.type !== "unit_phase") changed = true;
      tell(event);
      if (event.type === "run_finished") close();
    },
    close,
  };
}
