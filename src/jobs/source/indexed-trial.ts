import { createFailure } from "../../store/failure.ts";
import type { UnitRow } from "../../store/run.ts";
import { toUnitRow } from "../../store/unit-row.ts";
import type { TrialFinishedLine, TrialTornDownLine } from "../output/job-journal.ts";
import type { TalliedTrial } from "../output/job-tally.ts";
import { isFailed, type TrialErrorFile } from "../output/trial-result-schema.ts";
import { toUnit } from "../output/trial-unit.ts";
import type { RowPool, SharedInputs } from "./row-pool.ts";

/** A finished trial without its texts, and where its lines are in the journal. */
export interface IndexedTrial {
  readonly row: UnitRow;
  readonly inputs: SharedInputs;
  readonly taskHash: string | null;
  readonly finishedStart: number;
  readonly finishedEnd: number;
  /** 0 if there is no such line. */
  readonly tornDownStart: number;
  readonly tornDownEnd: number;
  /** The end of the last line that changed the unit as readers see it. */
  readonly changedAt: number;
}

/** The place of a line in the journal, in bytes. */
export interface LinePlace {
  readonly start: number;
  readonly end: number;
}

/** Returns what an index keeps of a result. Its row has no place in a plan yet. */
export function indexTrial({ result }: TrialFinishedLine, { start, end }: LinePlace, pool: RowPool): IndexedTrial {
  return {
    row: pool.row(toUnitRow(toUnit(result, -1))),
    inputs: pool.inputs(result.inputs),
    taskHash: result.inputs.task,
    finishedStart: start,
    finishedEnd: end,
    tornDownStart: 0,
    tornDownEnd: 0,
    changedAt: end,
  };
}

/** Applies what the removal of its environment changed. */
export function amendTrial(
  trial: IndexedTrial,
  line: TrialTornDownLine,
  { start, end }: LinePlace,
  pool: RowPool,
): IndexedTrial {
  const { status, failure } = outcomeOf(line.error);
  const warningCount = line.warnings.length;
  const hasChanged = failure?.fingerprint !== trial.row.failure?.fingerprint || warningCount !== trial.row.warningCount;
  return {
    ...trial,
    row: {
      ...trial.row,
      status,
      failure: pool.failure(failure),
      warningCount,
      artifactCount: line.artifact_count,
    },
    tornDownStart: start,
    tornDownEnd: end,
    changedAt: hasChanged ? end : trial.changedAt,
  };
}

/** Returns what counts and rates are made of. They need no texts. */
export function toTallied({ row, inputs, taskHash }: IndexedTrial): TalliedTrial {
  const { labels, scores, spendUsd, failure, usage, isUntrusted } = row;
  return {
    agent_name: labels["agent"] ?? "",
    reward: scores[0]?.value ?? null,
    cost: spendUsd === null ? null : spendUsd - (usage?.costUsd ?? 0),
    error: failure && ({ ...failure, message: "" } as TrialErrorFile),
    agent_usage: usage && {
      cost_usd: usage.costUsd,
      input_tokens: usage.inputTokens,
      output_tokens: usage.outputTokens,
    },
    untrusted: isUntrusted ? [""] : [],
    inputs: { ...inputs, task: taskHash },
  };
}

function outcomeOf(error: TrialErrorFile | null): Pick<UnitRow, "status" | "failure"> {
  if (error === null || !isFailed({ error })) return { status: "completed", failure: null };
  const { type, phase, cause, fingerprint } = createFailure(error);
  return { status: type === "trial_cancelled" ? "cancelled" : "failed", failure: { type, phase, cause, fingerprint } };
}
