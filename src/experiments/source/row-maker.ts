import type { RawJson } from "../../base/raw-json.ts";
import type { RawMembers } from "../../base/raw-members.ts";
import type { UnitRow } from "../../store/run.ts";
import { toUnitRow } from "../../store/unit-row.ts";
import { readRunLine } from "../output/directory/result-lines.ts";
import type { PlannedRun } from "../run/example.ts";
import { toUnit, type ExperimentNames } from "../run/to-unit.ts";

type RowFailure = NonNullable<UnitRow["failure"]>;
type RowScore = UnitRow["scores"][number];

const noPhases: UnitRow["phases"] = [];
const noScores: UnitRow["scores"] = [];

/** Makes rows of results. Parts that many rows share are kept once. */
export class RowMaker {
  readonly #names: ExperimentNames;
  readonly #failures = new Map<string, RowFailure>();
  readonly #texts = new Map<string, string>();
  /** By evaluator and value. */
  readonly #scores = new Map<string, Map<number | null, RowScore>>();

  constructor(names: ExperimentNames) {
    this.#names = names;
  }

  /** Returns the row of a line of runs.jsonl, without scores. */
  toRow(place: Pick<PlannedRun, "index" | "runId" | "repetition">, exampleId: string, members: RawMembers): UnitRow {
    const run = { ...place, example: { id: exampleId, input: "null" as RawJson, output: null, metadata: null } };
    const row = toUnitRow(toUnit({ ...readRunLine(run, members), evaluations: [] }, this.#names));
    return { ...row, phases: noPhases, scores: noScores, failure: row.failure && this.#share(row.failure) };
  }

  /** Returns the score of an evaluator. Most are 0 or 1; others are not worth an entry. */
  toScore(evaluator: string, value: number | null): RowScore {
    const name = this.#text(evaluator);
    if (value !== null && value !== 0 && value !== 1) return { name, value };
    const scores = this.#scores.get(name) ?? new Map<number | null, RowScore>();
    const score = scores.get(value) ?? { name, value };
    this.#scores.set(name, scores.set(value, score));
    return score;
  }

  /** Returns a text that refers to no other text: a slice would keep its line in memory. */
  #text(text: string): string {
    const known = this.#texts.get(text);
    if (known !== undefined) return known;
    const copy = copyOf(text);
    this.#texts.set(copy, copy);
    return copy;
  }

  #share(failure: RowFailure): RowFailure {
    const key = `${failure.cause} ${failure.fingerprint}`;
    const known = this.#failures.get(key);
    if (known !== undefined) return known;
    const copy = { ...failure, type: this.#text(failure.type), fingerprint: copyOf(failure.fingerprint) };
    this.#failures.set(copyOf(key), copy);
    return copy;
  }
}

function copyOf(text: string): string {
  return Buffer.from(text).toString();
}
