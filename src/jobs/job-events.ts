import type { Clock } from "../base/clock.ts";
import type { Log, LogLevel } from "../base/log.ts";
import { redactValue, type Redactor } from "../base/redactor.ts";
import { RunEvents } from "../store/run-events.ts";
import type { RunEvent, RunListener, Unit } from "../store/run.ts";

// Logged with their times, for people who debug a run.
const loggedEvents: readonly string[] = [
  "run_started",
  "unit_started",
  "unit_phase",
  "unit_retry",
  "unit_finished",
  "run_paused",
  "run_continued",
  "run_stopping",
  "run_finished",
];

/** Sends the events of a job to its log and its listener, without secrets. */
export class JobEvents {
  readonly #clock: Clock;
  readonly #redactor: Redactor;
  readonly #log: Log;
  readonly #events: RunEvents;
  readonly #warnings: string[] = [];

  constructor(clock: Clock, redactor: Redactor, log: Log, listener: RunListener) {
    this.#clock = clock;
    this.#redactor = redactor;
    this.#log = log;
    this.#events = new RunEvents(listener, (message) => this.warn(message, "error"));
  }

  /** Every warning so far. */
  get warnings(): readonly string[] {
    return this.#warnings;
  }

  /** The promise resolves once the listener has handled the event. */
  readonly emit = async (event: RunEvent): Promise<void> => {
    const clean = redactValue(event, this.#redactor);
    if (loggedEvents.includes(event.type)) this.#log.write("debug", event.type, { event: clean });
    await this.#events.emit(clean);
  };

  warn(message: string, level: LogLevel = "info"): void {
    this.#warnings.push(message);
    this.#log.write(level, message);
    void this.emit({ type: "warning", at: this.#clock.now(), message });
  }

  /** Writes to the log file only. */
  note(message: string): void {
    this.#log.write("info", message);
  }

  activity(line: string): void {
    void this.emit({ type: "run_activity", at: this.#clock.now(), line });
  }

  finished(unit: Unit): void {
    void this.emit({ type: "unit_finished", at: this.#clock.now(), unit });
  }

  /** Sends a unit of an earlier session. */
  restored(unit: Unit): void {
    void this.emit({ type: "unit_restored", at: this.#clock.now(), unit });
  }
}
