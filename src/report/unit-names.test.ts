import { expect, test } from "vitest";
import type { RunShape } from "../store/run.ts";
import { unitNames } from "./unit-names.ts";

const shape: RunShape = {
  groupBy: ["agent", "dataset"],
  itemLabel: "task",
  scoreName: "reward",
  passAt: 1,
  unitNoun: "trial",
};

test("a trial is named by its agent, its task in its dataset and its attempt", () => {
  expect(unitNames({ agent: "cpe", dataset: "tb", task: "chess", attempt: "2" }, shape).full).toBe("cpe tb/chess #2");
});

test("a short name leaves out where the item lies, unless little else would be left", () => {
  expect(unitNames({ agent: "cpe", dataset: "tb", task: "chess", attempt: "2" }, shape).short).toBe("cpe chess #2");
  expect(unitNames({ dataset: "tb", task: "chess" }, { ...shape, groupBy: ["dataset"] }).short).toBe("tb/chess");
});

test("a unit without groups is named by its item", () => {
  expect(unitNames({ item: "42" }, { ...shape, groupBy: [], itemLabel: "item" }).full).toBe("42");
});

test("labels that are missing leave no gap", () => {
  expect(unitNames({ agent: "cpe", task: "chess" }, shape).full).toBe("cpe/chess");
  expect(unitNames({}, shape).full).toBe("");
});

test("a name cannot drive the terminal", () => {
  expect(unitNames({ agent: "\x1b[2Jcpe", dataset: "a\nb", task: "c" }, shape).full).toBe("cpe a b/c");
});
