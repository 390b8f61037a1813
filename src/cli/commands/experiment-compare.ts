import type { JsonObject } from "../../base/json.ts";
import { plainJson } from "../../base/plain-json.ts";
import { compareExperiments, type ExperimentComparison } from "../../experiments/compare/compare-experiments.ts";
import { readExampleMarks, type ExampleMarks } from "../../experiments/compare/example-marks.ts";
import { readEarlierSessions } from "../../experiments/output/earlier-sessions.ts";
import { readPlan } from "../../experiments/output/plan-experiment.ts";
import type { Run } from "../../store/run.ts";
import type { CliContext } from "../cli-context.ts";
import { exitCodes } from "../exit-codes.ts";
import { locateExperiment } from "../experiment/locate-experiment.ts";
import { findExperiment, openExperimentPlace, type PlaceOptions } from "../experiment/open-experiment-place.ts";
import { renderComparison } from "../experiment/render-comparison.ts";

export interface ExperimentCompareOptions extends PlaceOptions {
  readonly json?: boolean;
}

/** `rollout experiment compare`: what became better and worse from one experiment to another, example by example. */
export async function experimentCompareCommand(
  first: string,
  second: string,
  options: ExperimentCompareOptions,
  context: CliContext,
): Promise<number> {
  const before = await readSide(first, options, context);
  const after = await readSide(second, options, context);
  const order = [...readEarlierSessions(before.record).evaluators, ...readEarlierSessions(after.record).evaluators];
  const comparison = compareExperiments(before.marks, after.marks, [...new Set(order)]);
  const { terminal } = context;
  terminal.out(
    options.json === true
      ? `${plainJson(toJson(before.record, after.record, comparison), 2)}\n`
      : renderComparison(before.record, after.record, comparison, terminal),
  );
  return exitCodes.done;
}

interface Side {
  readonly record: Run;
  readonly marks: ReadonlyMap<string, ExampleMarks>;
}

/** Each may be somewhere else. */
async function readSide(word: string, options: PlaceOptions, context: CliContext): Promise<Side> {
  const { signal } = new AbortController();
  const { id, options: found } = await locateExperiment(word, options, context);
  await using place = openExperimentPlace(found, signal, context);
  const repository = await place.openRepository("read");
  const record = { ...(await findExperiment(repository, id)), id };
  // Throws for a run of another kind.
  readPlan(record);
  return { record, marks: await readExampleMarks(repository.runs(id)) };
}

function toJson(before: Run, after: Run, comparison: ExperimentComparison): JsonObject {
  return {
    schema_version: 1,
    before: sideJson(before, comparison.failedBefore),
    after: sideJson(after, comparison.failedAfter),
    examples: {
      paired: comparison.paired,
      only_before: comparison.onlyBefore,
      only_after: comparison.onlyAfter,
      other_input: comparison.otherInput,
    },
    evaluators: comparison.evaluators.map((one) => ({
      evaluator: one.evaluator,
      pairs: one.pairs,
      mean_before: one.meanBefore,
      mean_after: one.meanAfter,
      difference: one.difference,
      interval: one.interval === null ? null : { ...one.interval },
      better: one.better.map(({ exampleId, ...marks }) => ({ example_id: exampleId, ...marks })),
      worse: one.worse.map(({ exampleId, ...marks }) => ({ example_id: exampleId, ...marks })),
      same: one.same,
      missing: one.missing,
    })),
    lone_evaluators: [...comparison.lone],
  };
}

function sideJson(record: Run, failedRuns: number): JsonObject {
  const { params, dataset } = readPlan(record);
  const { id, name, plan } = record;
  return { id, name, dataset, params, total_runs: plan.total, failed_runs: failedRuns };
}
