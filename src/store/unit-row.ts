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
