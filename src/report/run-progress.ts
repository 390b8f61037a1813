import { displayWidth, plainText } from "../base/terminal-text.ts";
import { exclusionOf, scoreOf, type Run, type RunEvent, type Unit } from "../store/run.ts";
import { unitNames } from "./unit-names.ts";

/** A unit that has started and not finished. Times are those of the monotonic clock. */
export interface RunningUnit {
  readonly name: string;
  readonly shortName: string;
  readonly startedMs: number;
  phase: string;
  line: string;
  /** Set while it waits to be tried again. */
  retry: { readonly tries: number; readonly untilMs: number; readonly reason: string } | null;
}

const etaNeeds = 3;

/** Where a run stands, kept in a handful of numbers and one entry for each running unit. */
export class RunProgress {
  run: Run | null = null;
  startedMs = 0;
  finished = 0;
  scored = 0;
  passed = 0;
  failed = 0;
  /** Failed units that the headline leaves out. */
  excluded = 0;
  costUsd = 0;
  unknownCosts = 0;
  readonly running = new Map<string, RunningUnit>();
  /** Display widths, remembered so that the columns of a live view do not jump. */
  longestName = 0;
  longestShortName = 0;
  longestPhase = 0;
  activity: { readonly line: string; readonly atMs: number; readonly key: string | null } | null = null;
  stopping: { readonly reason: string; readonly isTerminating: boolean; readonly sinceMs: number } | null = null;
  isPaused = false;
  #durationSec = 0;
  #markSum = 0;
  #markMin = Number.POSITIVE_INFINITY;
  #markMax = Number.NEGATIVE_INFINITY;

  /** Takes an event in; `nowMs` is the monotonic time at which it came. */
  apply(event: RunEvent, nowMs: number): void {
    switch (event.type) {
      case "run_started":
        this.run = event.run;
        this.startedMs = nowMs;
        break;
      case "unit_started":
        this.#start(event.key, event.labels, nowMs);
        break;
      case "unit_phase":
        this.#endWait(event.key);
        this.#update(event.key, { phase: plainText(event.phase).replaceAll("_", " "), line: "", retry: null });
        break;
      case "unit_activity":
        this.#update(event.key, { line: lastLine(event.line), retry: null });
        break;
      case "unit_retry": {
        const reason = plainText(`${event.failure.type}: ${event.failure.message}`);
        this.#update(event.key, { retry: { tries: event.tries, untilMs: nowMs + event.waitMs, reason } });
        break;
      }
      case "unit_finished":
      case "unit_restored":
        this.#finish(event.unit);
        break;
      case "run_activity":
        this.activity = { line: lastLine(event.line), atMs: nowMs, key: event.key ?? null };
        break;
      case "run_paused":
      case "run_continued":
        this.isPaused = event.type === "run_paused";
        break;
      case "run_stopping":
        this.stopping = {
          reason: plainText(event.reason),
          isTerminating: event.isTerminating,
          sinceMs: this.stopping?.sinceMs ?? nowMs,
        };
        break;
    }
  }

  get total(): number {
    return Math.max(this.run?.plan.total ?? 0, this.finished);
  }

  /** Units that the headline counts: those with a mark, and failures that count as not passed. */
  get counted(): number {
    return this.scored + this.failed - this.excluded;
  }

  /** Units that run right now, without those that wait for their next try. */
  countActive(): number {
    let active = 0;
    for (const unit of this.running.values()) if (!unit.retry) active++;
    return active;
  }

  /** A metric over the marks so far; null for one we do not know and while there is no mark. */
  metric(name: string): number | null {
    if (this.scored === 0) return null;
    const values = new Map([
      ["mean", this.#markSum / this.scored],
      ["sum", this.#markSum],
      ["min", this.#markMin],
      ["max", this.#markMax],
    ]);
    return values.get(name) ?? null;
  }

  /** Seconds that are probably left; null until enough units have shown how long they take. */
  estimateSec(nowMs: number): number | null {
    if (!this.run || this.finished < etaNeeds || this.stopping || this.isPaused) return null;
    const each = this.#durationSec / this.finished;
    const left = this.total - this.finished;
    let work = Math.max(0, left - this.running.size) * each;
    for (const unit of this.running.values()) work += Math.max(0, each - (nowMs - unit.startedMs) / 1000);
    return work / Math.max(1, Math.min(this.run.plan.concurrency, left));
  }

  #start(key: string, labels: Readonly<Record<string, string>>, nowMs: number): void {
    const names = this.run ? unitNames(labels, this.run.shape) : { full: "", short: "" };
    const name = names.full || plainText(key);
    const shortName = names.short || name;
    this.longestName = Math.max(this.longestName, displayWidth(name));
    this.longestShortName = Math.max(this.longestShortName, displayWidth(shortName));
    this.running.set(key, { name, shortName, startedMs: nowMs, phase: "", line: "", retry: null });
  }

  #update(key: string, change: Partial<RunningUnit>): void {
    const unit = this.running.get(key);
    if (!unit) return;
    Object.assign(unit, change);
    this.longestPhase = Math.max(this.longestPhase, displayWidth(unit.phase));
  }

  // What a unit waited for is old news once it goes on.
  #endWait(key: string): void {
    if (this.activity?.key === key) this.activity = null;
  }

  #finish(unit: Unit): void {
    this.#endWait(unit.key);
    this.running.delete(unit.key);
    this.finished++;
    this.#durationSec += unit.durationSec;
    if (unit.spendUsd === null) this.unknownCosts++;
    else this.costUsd += unit.spendUsd;
    const mark = this.run ? scoreOf(unit, this.run.shape.scoreName) : null;
    if (mark === null) {
      if (unit.failure) this.failed++;
      if (unit.failure && exclusionOf(unit.failure) !== null) this.excluded++;
      return;
    }
    this.scored++;
    if (mark >= (this.run?.shape.passAt ?? 1)) this.passed++;
    this.#markSum += mark;
    this.#markMin = Math.min(this.#markMin, mark);
    this.#markMax = Math.max(this.#markMax, mark);
  }
}

/** The last thing a text shows: programs overwrite their own progress with carriage returns. */
function lastLine(text: string): string {
  const parts = text.split(/[\r\n]/).map((part) => plainText(part).trim());
  return parts.findLast((part) => part !== "") ?? "";
}
