import type { Clock, Timer } from "../base/clock.ts";
import { AbortReason } from "../engine/abort-reason.ts";
import type { Budget } from "./config/job.ts";

export interface BudgetWatchOptions {
  readonly budget: Budget;
  readonly clock: Clock;
  /** How long earlier sessions took. */
  readonly earlierSec: number;
  /** Told once for each limit at 80 %. */
  readonly onWarning: (message: string) => void;
  /** Told once, when the first limit is spent. */
  readonly onSpent: (reason: AbortReason) => void;
}

/** What trials have used up. */
export interface Spending {
  readonly costUsd: number;
  readonly tokens: number;
  /** Trials whose cost nobody knows. */
  readonly unknownCost: number;
  /** Trials that ended well, of agents that did not tell what they spent. */
  readonly unknownSpending: number;
  /** Trials that ended well, of agents that told no tokens. */
  readonly unknownTokens: number;
}

const warnAt = 0.8;

/** Watches what a job spends and tells when no new trial should start. */
export class BudgetWatch implements Disposable {
  readonly #options: BudgetWatchOptions;
  readonly #timers: Timer[];
  readonly #warned = new Set<string>();
  #isSpent = false;

  constructor(options: BudgetWatchOptions) {
    this.#options = options;
    const { wallSec } = options.budget;
    const { clock, earlierSec } = options;
    this.#timers =
      wallSec === null
        ? []
        : [warnAt, 1].map((share) =>
            clock.startTimer(Math.max(0, wallSec * share - earlierSec) * 1000, () =>
              this.#look("wall_sec", Math.max(earlierSec, share * wallSec), wallSec),
            ),
          );
  }

  /** Takes what all finished trials have cost so far, and of how many that is not known. */
  spend({ costUsd, tokens, unknownCost, unknownSpending, unknownTokens }: Spending): void {
    this.#look("cost_usd", costUsd, this.#options.budget.costUsd);
    this.#look("tokens", tokens, this.#options.budget.tokens);
    if (unknownCost > 0) this.#warnOfUnknown("cost_usd", "trials cost", this.#options.budget.costUsd);
    if (unknownSpending > 0) this.#warnOfUnknown("cost_usd", "agents spent", this.#options.budget.costUsd);
    if (unknownTokens > 0) this.#warnOfUnknown("tokens", "trials used", this.#options.budget.tokens);
    // What earlier sessions took is spent before the first timer can tell.
    this.#look("wall_sec", this.#options.earlierSec, this.#options.budget.wallSec);
  }

  [Symbol.dispose](): void {
    for (const timer of this.#timers) timer.clear();
  }

  #warnOfUnknown(name: string, who: string, limit: number | null): void {
    if (limit === null || this.#warned.has(`unknown ${name}`)) return;
    this.#warned.add(`unknown ${name}`);
    this.#options.onWarning(`budget.${name}: what some ${who} is unknown and does not count`);
  }

  #look(name: string, spent: number, limit: number | null): void {
    if (limit === null || this.#isSpent) return;
    const text = `budget.${name}: ${Number(spent.toFixed(4))} of ${limit}`;
    if (spent >= limit) {
      this.#isSpent = true;
      this.#options.onSpent(new AbortReason("budget", `${text} is spent`));
    } else if (spent >= limit * warnAt && !this.#warned.has(name)) {
      this.#warned.add(name);
      this.#options.onWarning(`${text} is spent; no new trial starts at the limit`);
    }
  }
}
