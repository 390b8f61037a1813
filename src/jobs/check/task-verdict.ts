import type { TrialResultFile } from "../output/trial-result-schema.ts";

/** What may be found about a task that is checked, worst first; `not_judged` blames nobody. */
export const findingKinds = [
  "broken",
  "oracle_fails",
  "passes_untouched",
  "flaky",
  "needs_network",
  "not_judged",
] as const;

export type FindingKind = (typeof findingKinds)[number];

export interface Finding {
  readonly kind: FindingKind;
  /** A few words for a table. */
  readonly title: string;
  readonly message: string;
  /** A trial that shows it; null when none ran. */
  readonly trialDir: string | null;
}

/** Attempts of one agent at one task; one that infrastructure or a cancellation took away is not judged. */
export interface AttemptCount {
  readonly judged: number;
  readonly passed: number;
}

/** What a check says about one task. */
export interface TaskVerdict {
  readonly datasetName: string;
  readonly taskName: string;
  /** The kind of its worst finding. */
  readonly verdict: FindingKind | "ok";
  /** Worst first. */
  readonly findings: readonly Finding[];
  readonly oracle: AttemptCount;
  readonly nop: AttemptCount;
  /** Whether the tests pass only with the network; null when that is not known. */
  readonly needsNetwork: boolean | null;
  /** What its trials warned of, each with the attempts it was seen in. */
  readonly warnings: readonly string[];
}

/** A task as the check planned it. */
export interface CheckedTask {
  readonly datasetName: string;
  readonly taskName: string;
  /** It could not be fetched, and another time it may be. */
  readonly isOutOfReach: boolean;
}

/** A finished trial and where it lies. */
export interface CheckedTrial {
  readonly dir: string;
  readonly result: TrialResultFile;
}
