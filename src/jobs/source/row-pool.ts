import type { UnitPhase, UnitRow } from "../../store/run.ts";
import type { TrialInputsFile } from "../output/trial-result-schema.ts";

/** Inputs that trials of one agent share. */
export type SharedInputs = Omit<TrialInputsFile, "task">;

type Failure = NonNullable<UnitRow["failure"]>;

/** Keeps one copy of the parts that many rows share. */
export class RowPool {
  readonly #texts = new Map<string, string>();
  readonly #failures = new Map<string, Failure>();
  readonly #scores = new Map<number | null, UnitRow["scores"]>();
  readonly #inputs = new Map<string, SharedInputs>();
  readonly #missingPhases = new Map<string, UnitPhase>();

  /** Returns a row with shared parts. */
  row(row: UnitRow): UnitRow {
    return {
      ...row,
      scores: this.#scoresOf(row.scores),
      failure: this.failure(row.failure),
      phases: row.phases.map((phase) => this.#phase(phase)),
    };
  }

  failure(failure: UnitRow["failure"]): UnitRow["failure"] {
    if (failure === null) return null;
    const key = `${failure.cause}|${failure.fingerprint}`;
    // A fingerprint can be a slice of its message, which would keep the message in memory.
    return (
      this.#failures.get(key) ?? put(this.#failures, key, { ...failure, fingerprint: flatCopy(failure.fingerprint) })
    );
  }

  text(text: string): string {
    return this.#texts.get(text) ?? put(this.#texts, text, text);
  }

  inputs({ agent, environment, settings }: TrialInputsFile): SharedInputs {
    const key = `${agent}|${environment}|${settings}`;
    return this.#inputs.get(key) ?? put(this.#inputs, key, { agent, environment, settings });
  }

  // Most rewards are 0 or 1; others are not worth an entry.
  #scoresOf(scores: UnitRow["scores"]): UnitRow["scores"] {
    const value = scores[0]?.value ?? null;
    if (value !== null && value !== 0 && value !== 1) return scores;
    return this.#scores.get(value) ?? put(this.#scores, value, scores);
  }

  #phase(phase: UnitPhase): UnitPhase {
    if (phase.durationSec !== null) return phase;
    return this.#missingPhases.get(phase.name) ?? put(this.#missingPhases, phase.name, phase);
  }
}

function put<Key, Value>(map: Map<Key, Value>, key: Key, value: Value): Value {
  map.set(key, value);
  return value;
}

/** Returns a string that refers to no other: slices and concatenations keep their parts in memory. */
export function flatCopy(text: string): string {
  return Buffer.from(text).toString();
}
