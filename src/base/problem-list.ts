import type { Problem } from "./problem.ts";
import { RolloutError } from "./rollout-error.ts";

const mostProblems = 20;

/** Collects what is wrong with what somebody gave, up to a number that a person still reads. */
export class ProblemList {
  readonly #problems: Problem[] = [];

  /** Nothing more is worth looking for. */
  get isFull(): boolean {
    return this.#problems.length >= mostProblems;
  }

  get isEmpty(): boolean {
    return this.#problems.length === 0;
  }

  add(problem: Omit<Problem, "severity">): void {
    if (!this.isFull) this.#problems.push({ ...problem, severity: "error" });
  }

  /** Throws all of them, if there are any, and says what became of it all. */
  check(what: string, consequence = "nothing was written"): void {
    if (this.isEmpty) return;
    const count = this.isFull ? `at least ${mostProblems} problems` : this.#count();
    throw new RolloutError("config_invalid", `${what} has ${count}; ${consequence}`, { problems: this.#problems });
  }

  #count(): string {
    return this.#problems.length === 1 ? "a problem" : `${this.#problems.length} problems`;
  }
}
