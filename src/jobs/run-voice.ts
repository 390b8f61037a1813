import type { Clock } from "../base/clock.ts";
import type { Log } from "../base/log.ts";
import type { Redactor } from "../base/redactor.ts";
import type { RunEvent, RunListener, Unit } from "../store/run.ts";
import { describeThrown } from "./trial/failure.ts";

// What a person who debugs a run wants to find in its log file, with times.
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

/** How a run tells its listener what happens, with every secret taken out. */
export class RunVoice {
  readonly #clock: Clock;
  readonly #redactor: Redactor;
  readonly #log: Log;
  readonly #listener: RunListener;
  readonly #warnings: string[] = [];

  constructor(clock: Clock, redactor: Redactor, log: Log, listener: RunListener) {
    this.#clock = clock;
    this.#redactor = redactor;
    this.#log = log;
    this.#listener = listener;
  }

  /** Everything that was warned of so far. */
  get warnings(): readonly string[] {
    return this.#warnings;
  }

  // What a listener does with an event is its own affair; a job of many hours does not end with it.
  readonly emit = (event: RunEvent): void => {
    if (loggedEvents.includes(event.type)) this.#log.write("debug", event.type, { event });
    try {
      this.#listener(event);
    } catch (error) {
      this.#log.write("error", "a listener threw", { event: event.type, error: describeThrown(error) });
    }
  };

  warn(message: string): void {
    this.#warnings.push(message);
    this.#log.write("info", message);
    this.emit({ type: "warning", at: this.#clock.now(), message: this.#redactor.text(message) });
  }

  /** For the log file only. */
  note(message: string): void {
    this.#log.write("info", message);
  }

  activity(line: string): void {
    this.emit({ type: "run_activity", at: this.#clock.now(), line: this.#redactor.text(line) });
  }

  finished(unit: Unit): void {
    this.emit({ type: "unit_finished", at: this.#clock.now(), unit: this.#redact(unit) });
  }

  /** Tells of a unit that an earlier session finished. */
  kept(unit: Unit): void {
    this.emit({ type: "unit_kept", at: this.#clock.now(), unit: this.#redact(unit) });
  }

  #redact(unit: Unit): Unit {
    const { failure, warnings } = unit;
    return {
      ...unit,
      failure: failure && { ...failure, message: this.#redactor.text(failure.message) },
      warnings: warnings.map((warning) => this.#redactor.text(warning)),
    };
  }
}
