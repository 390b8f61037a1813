import { expect, test } from "vitest";
import { createExecutor } from "./create-executor.ts";
import type { Experiment } from "./experiment-definition.ts";

const params = { model: "small", words: ["a"], factor: 2, deep: { a: 1 }, loud: false, any: null };
const task = (): number => 1;

async function init(experiment: Experiment, given: Experiment["params"]): Promise<string | null> {
  const { ok, error } = await createExecutor(experiment).init({ max_workers: 1, params: given ?? {} });
  expect(ok).toBe(error === undefined);
  return error ?? null;
}

test.each([
  [{ modle: "big" }, 'param "modle": unknown param; did you mean "model"?'],
  [{ toString: 1 }, 'param "toString": unknown param; known: model, words, factor, deep, loud, any'],
  [{ words: "prize" }, 'param "words" is a list (default ["a"]), not "prize"'],
  [{ factor: "3" }, 'param "factor" is a number (default 2), not "3"'],
  [{ model: 3 }, 'param "model" is a text (default "small"), not 3'],
  [{ deep: [] }, 'param "deep" is an object (default {"a":1}), not []'],
  [{ loud: 1 }, 'param "loud" is a boolean (default false), not 1'],
])("init refuses a param that the experiment does not take: %j", async (given, words) => {
  expect(await init({ params, task }, given)).toBe(words);
});

test("init takes what is of the default's type, null, and anything where there are no defaults", async () => {
  expect(await init({ params, task }, { ...params, model: "big", words: [], any: { a: 1 }, loud: null })).toBeNull();
  expect(await init({ task }, { whatever: 1 })).toBeNull();
});
