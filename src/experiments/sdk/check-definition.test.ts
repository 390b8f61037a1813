import { expect, test } from "vitest";
import { checkDefinition } from "./check-definition.ts";
import { createExecutor } from "./create-executor.ts";
import { defineExperiment } from "./define-experiment.ts";
import type { Experiment } from "./experiment-definition.ts";

const task = (): number => 1;

test.each([
  [undefined, "it is an object with a task, not undefined"],
  [task, "it is an object with a task, not a function"],
  [{}, "there is no task"],
  [{ task: "double" }, "task is a function, not a text"],
  [{ task, evaluator: {} }, 'evaluator: unknown member; did you mean "evaluators"?'],
  [{ task, evaluators: [task] }, "evaluators is an object of functions by name, not a list"],
  [{ task, evaluators: { right: 1 } }, "evaluators.right is a function, not a number"],
  [{ task, aggregates: task }, "aggregates is an object of functions by name, not a function"],
  [{ task, aggregates: { mean: null } }, "aggregates.mean is a function, not null"],
  [{ task, params: ["a"] }, "params is an object of defaults, not a list"],
  [{ task, params: { much: Number.NaN } }, "NaN at params.much is no number of JSON"],
  [{ task, name: 7 }, "name is a text, not a number"],
  [{ tsak: task }, 'tsak: unknown member; did you mean "task"?; there is no task'],
])("what is wrong with a definition is told: case %#", (definition, words) => {
  const message = `this is no experiment: ${words}`;
  expect(() => checkDefinition(definition)).toThrow(message);
  expect(() => defineExperiment(definition as unknown as Experiment)).toThrow(message);
  expect(() => createExecutor(definition as unknown as Experiment)).toThrow(message);
});

test("an experiment is returned as it is", () => {
  const whole = { name: "n", description: "d", params: { a: 1 }, task, evaluators: { one: task }, aggregates: {} };
  expect(defineExperiment(whole)).toBe(whole);
  expect(defineExperiment({ task, evaluators: undefined } as unknown as Experiment)).toHaveProperty("task", task);
});
