import { HeadlineTally, type Attempt } from "../../analysis/headline-tally.ts";
import { RunningMean } from "../../analysis/running-mean.ts";
import { exclusionOf, type Failure, type Run, type UnitRow } from "../../store/run.ts";

export interface CounterOptions {
  /** The headline is about the first. */
  readonly evaluators: readonly string[];
  readonly passAt: number;
  readonly repetitions: number;
}

/** What is counted of a run. */
export interface CountedRun extends Pick<UnitRow, "scores"> {
  readonly exampleId: string;
  /** Null if the task succeeded. */
  readonly failure: Pick<Failure, "type" | "cause"> | null;
  readonly failedEvaluations: number;
}

/** Counts the runs of an experiment and their scores, in memory that does not grow with their number. */
export class ExperimentCounter {
  readonly #evaluators: readonly string[];
  readonly #scores = new Map<string, RunningMean>();
  readonly #headline: HeadlineTally;
  readonly #excluded = new Map<string, number>();
  #succeeded = 0;
  #failed = 0;
  #failedEvaluations = 0;

  constructor({ evaluators, passAt, repetitions }: CounterOptions) {
    this.#evaluators = evaluators;
    this.#headline = new HeadlineTally(passAt, repetitions);
    for (const evaluator of evaluators) this.#scores.set(evaluator, new RunningMean());
  }

  get succeeded(): number {
    return this.#succeeded;
  }

  get failed(): number {
    return this.#failed;
  }

  get failedEvaluations(): number {
    return this.#failedEvaluations;
  }

  get averageScores(): Readonly<Record<string, number | null>> {
    return Object.fromEntries(Array.from(this.#scores, ([name, { mean }]) => [name, mean]));
  }

  add(run: CountedRun): void {
    if (run.failure === null) this.#succeeded++;
    else this.#failed++;
    this.#failedEvaluations += run.failedEvaluations;
    for (const { name, value } of run.scores) if (value !== null) this.#scores.get(name)?.addCluster([value]);
    this.#headline.add(run.exampleId, this.#attemptOf(run));
  }

  /** Describes the runs so far. */
  describe(): Pick<Run, "counts" | "headline" | "unknownSpends"> {
    const finished = this.#succeeded + this.#failed;
    const [score] = this.#evaluators;
    const excluded = Object.fromEntries(this.#excluded);
    return {
      counts: { finished, completed: this.#succeeded, failed: this.#failed, cancelled: 0, untrusted: 0 },
      headline: score === undefined ? null : { score, ...this.#headline.summarize(), excluded },
      unknownSpends: finished,
    };
  }

  #attemptOf({ failure, scores }: CountedRun): Attempt {
    const [first] = this.#evaluators;
    const value = scores.find(({ name }) => name === first)?.value ?? null;
    if (value !== null) return { value };
    const reason = failure === null ? "no_score" : exclusionOf(failure);
    if (reason === null) return "missed";
    this.#excluded.set(reason, (this.#excluded.get(reason) ?? 0) + 1);
    return "excluded";
  }
}
