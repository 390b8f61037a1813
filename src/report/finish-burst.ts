import type { Clock, Timer } from "../base/clock.ts";
import { plainText } from "../base/terminal-text.ts";
import { scoreOf, type RunShape, type Unit } from "../store/run.ts";
import { groupDigits } from "./number-text.ts";

const calmLines = 10;
const windowMs = 1000;
const longWindowMs = 10_000;
const mostTypes = 5;

/** Lets single lines through while they are few, and counts them into one line when they come in masses. */
export class FinishBurst {
  readonly #clock: Clock;
  readonly #say: (line: string) => void;
  #windowStartMs = Number.NEGATIVE_INFINITY;
  #windowLines = 0;
  #timer: Timer | null = null;
  #passed = 0;
  #missed = 0;
  #done = 0;
  #retries = 0;
  #failures = new Map<string, number>();

  constructor(clock: Clock, say: (line: string) => void) {
    this.#clock = clock;
    this.#say = say;
  }

  add(unit: Unit, shape: RunShape, line: () => string): void {
    if (this.#isCalm()) return this.#say(line());
    const mark = scoreOf(unit, shape.scoreName);
    if (mark !== null && mark >= shape.passAt) this.#passed++;
    else if (mark !== null) this.#missed++;
    else if (!unit.failure) this.#done++;
    else this.#failures.set(unit.failure.type, (this.#failures.get(unit.failure.type) ?? 0) + 1);
  }

  addRetry(line: () => string): void {
    if (this.#isCalm()) this.#say(line());
    else this.#retries++;
  }

  /** Says what was counted and leaves no timer. */
  end(): void {
    this.#timer?.clear();
    this.#timer = null;
    this.#flush();
  }

  #isCalm(): boolean {
    if (this.#timer) return false;
    const now = this.#clock.monotonic();
    if (now - this.#windowStartMs >= windowMs) {
      this.#windowStartMs = now;
      this.#windowLines = 0;
    }
    if (++this.#windowLines <= calmLines) return true;
    this.#collect(this.#windowStartMs + windowMs - now, windowMs);
    return false;
  }

  #collect(waitMs: number, spanMs: number): void {
    this.#timer = this.#clock.startTimer(waitMs, () => {
      this.#timer = null;
      const lines = this.#flush();
      // As long as they keep coming in masses, one line in ten seconds has to do.
      if (lines > (calmLines * spanMs) / windowMs) this.#collect(longWindowMs, longWindowMs);
    });
  }

  #flush(): number {
    const failures = [...this.#failures].sort(([, a], [, b]) => b - a);
    const failed = failures.reduce((total, [, count]) => total + count, 0);
    const finished = this.#passed + this.#missed + this.#done + failed;
    const lines = finished + this.#retries;
    if (lines > 0) {
      const types = failures.slice(0, mostTypes).map(([type, count]) => `${plainText(type)} ${groupDigits(count)}`);
      const rest = failures.length > mostTypes ? ", ..." : "";
      const part = (count: number, word: string): string[] => (count > 0 ? [`${groupDigits(count)} ${word}`] : []);
      const parts = [
        ...part(this.#passed, "passed"),
        ...part(this.#missed, "not passed"),
        ...part(this.#done, "done"),
        ...part(failed, `failed (${types.join(", ")}${rest})`),
        ...part(this.#retries, this.#retries === 1 ? "retry" : "retries"),
      ];
      this.#say(`${finished > 0 ? `${groupDigits(finished)} more finished: ` : ""}${parts.join(", ")}`);
    }
    this.#passed = this.#missed = this.#done = this.#retries = 0;
    this.#failures = new Map();
    return lines;
  }
}
