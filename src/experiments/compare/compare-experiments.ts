import { pairedDifference, type PairedDifference } from "../../analysis/paired-difference.ts";
import { meanOf, type ExampleMarks } from "./example-marks.ts";

/** An example that got something else in the second experiment than in the first. */
export interface ChangedExample {
  readonly exampleId: string;
  readonly before: number;
  readonly after: number;
}

/** What one evaluator says of two experiments. */
export interface EvaluatorComparison extends PairedDifference {
  readonly evaluator: string;
  /** Those that changed most come first. */
  readonly better: readonly ChangedExample[];
  readonly worse: readonly ChangedExample[];
  readonly same: number;
  /** Pairs of which one has no score. */
  readonly missing: number;
}

export interface ExperimentComparison {
  /** Examples that both have, with the same input. */
  readonly paired: number;
  readonly onlyBefore: number;
  readonly onlyAfter: number;
  /** Examples of the same id with another input, which are left out. */
  readonly otherInput: number;
  /** Runs of the pairs that failed. */
  readonly failedBefore: number;
  readonly failedAfter: number;
  /** Of those that marked both. */
  readonly evaluators: readonly EvaluatorComparison[];
  /** Evaluators that marked one of them alone. */
  readonly lone: readonly string[];
}

type Marks = ReadonlyMap<string, ExampleMarks>;

interface Pair {
  readonly id: string;
  readonly before: ExampleMarks;
  readonly after: ExampleMarks;
}

/** Compares two experiments, example by example: what both did not run on the same input says nothing of either. Evaluators stand in the order that is given. */
export function compareExperiments(before: Marks, after: Marks, order: readonly string[]): ExperimentComparison {
  const common = [...before].flatMap(([id, marks]): Pair[] => {
    const other = after.get(id);
    return other === undefined ? [] : [{ id, before: marks, after: other }];
  });
  const pairs = common.filter((pair) => pair.before.inputHash === pair.after.inputHash);
  const [names, otherNames] = [evaluatorsOf(before), evaluatorsOf(after)];
  return {
    paired: pairs.length,
    onlyBefore: before.size - common.length,
    onlyAfter: after.size - common.length,
    otherInput: common.length - pairs.length,
    failedBefore: pairs.reduce((sum, pair) => sum + pair.before.failed, 0),
    failedAfter: pairs.reduce((sum, pair) => sum + pair.after.failed, 0),
    evaluators: inOrder(names.intersection(otherNames), order).map((name) => compareEvaluator(name, pairs)),
    lone: inOrder(names.symmetricDifference(otherNames), order),
  };
}

function compareEvaluator(evaluator: string, pairs: readonly Pair[]): EvaluatorComparison {
  const marked = pairs.flatMap(({ id, before, after }): ChangedExample[] => {
    const [was, is] = [meanOf(before, evaluator), meanOf(after, evaluator)];
    return was === null || is === null ? [] : [{ exampleId: id, before: was, after: is }];
  });
  const changeOf = (one: ChangedExample): number => one.after - one.before;
  const better = marked.filter((one) => changeOf(one) > 0).sort((a, b) => changeOf(b) - changeOf(a));
  const worse = marked.filter((one) => changeOf(one) < 0).sort((a, b) => changeOf(a) - changeOf(b));
  return {
    evaluator,
    ...pairedDifference(marked),
    better,
    worse,
    same: marked.length - better.length - worse.length,
    missing: pairs.length - marked.length,
  };
}

function inOrder(names: ReadonlySet<string>, order: readonly string[]): string[] {
  return [...order.filter((name) => names.has(name)), ...[...names].filter((name) => !order.includes(name)).sort()];
}

function evaluatorsOf(marks: Marks): Set<string> {
  return new Set([...marks.values()].flatMap(({ scores }) => [...scores.keys()]));
}
