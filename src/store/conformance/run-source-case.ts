import type { Run, RunStatus, Unit } from "../run.ts";
import type { RunSource } from "../run-source.ts";

/** A run that a case created. */
export interface SubjectRun {
  readonly id: string;
  /** Writes units as the feature would. A unit replaces the one with the same index. */
  write(units: readonly Unit[]): Promise<void>;
  /** Ends the run. Default: `completed`. */
  finish(status?: RunStatus): Promise<void>;
  /** Kills the process that works on the run. */
  kill(): Promise<void>;
}

export interface OpenRunRequest {
  readonly run?: Partial<Pick<Run, "name" | "tags" | "createdAt" | "targets">> | undefined;
  /** Units that are written at once. Default: none. */
  readonly units?: readonly Unit[] | undefined;
}

/** A source under test. It may contain runs of other cases. */
export interface RunSourceSubject {
  readonly source: RunSource;
  /** Creates a run that a living process works on. */
  readonly openRun: (request?: OpenRunRequest) => Promise<SubjectRun>;
  /** Returns a unit as the source returns it. Default: every field is kept. */
  readonly expected?: ((unit: Unit) => Unit) | undefined;
  /** Units lose labels, costs and other fields that filters name: a filter finds what `expected` keeps. Default: false. */
  readonly dropsFields?: boolean | undefined;
  /** The number of units of the largest run. Default: 100,000. */
  readonly maxUnits?: number | undefined;
}

/** Abilities that not every kind of source has. */
export type RunSourceAbility =
  /** Units have input, expected and output. */
  | "values"
  /** A unit can be written again while the run is open. */
  | "rewrites"
  /** Several runs can be created with a given name, tags and time. */
  | "run_facts";

/** One guarantee of the `RunSource` contract, checked with `node:assert`. */
export interface RunSourceCase {
  /** The guarantee, in one sentence. */
  readonly title: string;
  /** A source without one of these abilities skips the case. */
  readonly needs: readonly RunSourceAbility[];
  /** True for a case that takes several seconds. */
  readonly isSlow?: boolean | undefined;
  run(subject: RunSourceSubject): Promise<void>;
}
