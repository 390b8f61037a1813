import { RolloutError } from "../base/rollout-error.ts";

export interface RetryRules {
  /** Retries after the first try. */
  readonly maxAttempts: number;
  readonly initialDelayMs: number;
  readonly maxDelayMs: number;
  readonly multiplier: number;
}

/** How many retries something has left; shared by everything that counts against the same number. */
export class RetryBudget {
  readonly #rules: RetryRules;
  #used = 0;

  constructor(rules: RetryRules) {
    this.#rules = rules;
  }

  get used(): number {
    return this.#used;
  }

  /** Takes one retry and returns the wait before it, or null when the error is not transient or none is left. */
  take(error: unknown): number | null {
    if (!isTransient(error) || this.#used >= this.#rules.maxAttempts) return null;
    const delayMs = this.#rules.initialDelayMs * this.#rules.multiplier ** this.#used;
    this.#used++;
    return Math.min(delayMs, this.#rules.maxDelayMs);
  }
}

/** True when the same call may succeed if it is made again. */
function isTransient(error: unknown): boolean {
  return error instanceof RolloutError && error.transient;
}

/** Calls until it succeeds, the error is final, or the budget is spent; then throws the last error. */
export async function retryTransient<T>(
  call: () => Promise<T>,
  budget: RetryBudget,
  waitBefore: (waitMs: number, error: unknown) => Promise<void>,
): Promise<T> {
  for (;;) {
    try {
      return await call();
    } catch (error) {
      const waitMs = budget.take(error);
      if (waitMs === null) throw error;
      await waitBefore(waitMs, error);
    }
  }
}
