import type { Unit, UnitRow } from "./run.ts";

/** Returns a unit without its texts. */
export function toUnitRow(unit: Unit): UnitRow {
  const { index, key, labels, status, phases, usage, spendUsd, tries, startedAt, endedAt, durationSec } = unit;
  const { failure, scores } = unit;
  return {
    index,
    key,
    labels,
    status,
    scores: scores.map(({ name, value }) => ({ name, value })),
    failure: failure && {
      type: failure.type,
      phase: failure.phase,
      cause: failure.cause,
      fingerprint: failure.fingerprint,
    },
    phases,
    usage,
    spendUsd,
    tries,
    startedAt,
    endedAt,
    durationSec,
    isUntrusted: unit.untrusted.length > 0,
    warningCount: unit.warnings.length,
    artifactCount: unit.artifacts.length,
  };
}

/** What a unit has beyond its row. Parts that most units do not have are left out. */
export type UnitTexts = Pick<Unit, "input" | "expected" | "output" | "details"> &
  Partial<Pick<Unit, "scores" | "failure" | "artifacts" | "warnings" | "untrusted">>;

/** Returns what a unit has beyond its row. */
export function toUnitTexts(unit: Unit): UnitTexts {
  const { scores, failure, input, expected, output, artifacts, warnings, untrusted, details } = unit;
  const hasMore = scores.some((score) => Object.keys(score).length > 2);
  return {
    input,
    expected,
    output,
    details,
    ...(hasMore ? { scores } : {}),
    ...(failure === null ? {} : { failure }),
    ...(artifacts.length === 0 ? {} : { artifacts }),
    ...(warnings.length === 0 ? {} : { warnings }),
    ...(untrusted.length === 0 ? {} : { untrusted }),
  };
}

/** Returns the unit of a row and what it has beyond that. */
export function toUnit(row: UnitRow, texts: UnitTexts): Unit {
  const { isUntrusted: _untrusted, warningCount: _warnings, artifactCount: _artifacts, ...facts } = row;
  return { ...facts, failure: null, artifacts: [], warnings: [], untrusted: [], ...texts };
}
