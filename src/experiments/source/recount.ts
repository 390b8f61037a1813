import { extendLastSession } from "../../store/recount.ts";
import type { Run, UnitRow } from "../../store/run.ts";
import { readPlan } from "../output/plan-experiment.ts";
import { ExperimentCounter } from "../run/experiment-counter.ts";

/** Returns an experiment with the counts and scores of its stored results. Its process writes them only now and then. */
export function recount(run: Run, rows: readonly UnitRow[]): Run {
  const { passAt, repetitions } = readPlan(run);
  const { scoreName, otherScores = [] } = run.shape;
  const evaluators = scoreName === "" ? [] : [scoreName, ...otherScores];
  const counter = new ExperimentCounter({ evaluators, passAt, repetitions });
  for (const { key, labels, failure, scores, warningCount } of rows)
    counter.add({ exampleId: labels["example"] ?? key, failure, scores, failedEvaluations: warningCount });
  const { averageScores, failedEvaluations } = counter;
  return {
    ...run,
    ...counter.describe(),
    sessions: extendLastSession(run, rows),
    details: { ...run.details, average_scores: averageScores, failed_evaluations: failedEvaluations },
  };
}
