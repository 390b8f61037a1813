import { RolloutError } from "../../base/rollout-error.ts";
import { describeUnknown } from "../../base/suggest.ts";
import type { Experiment } from "./experiment-definition.ts";
import { findNotJson } from "./find-not-json.ts";

const isRight: Readonly<Record<keyof Experiment, (value: unknown) => string | null>> = {
  name: (value) => (value === undefined || typeof value === "string" ? null : `name is a text, not ${nameKind(value)}`),
  description: (value) =>
    value === undefined || typeof value === "string" ? null : `description is a text, not ${nameKind(value)}`,
  params: findInParams,
  task: (value) => {
    if (value === undefined) return "there is no task";
    return typeof value === "function" ? null : `task is a function, not ${nameKind(value)}`;
  },
  evaluators: (value) => findInFunctions("evaluators", value),
  aggregates: (value) => findInFunctions("aggregates", value),
};
const members = Object.keys(isRight);

/** Throws, with all that is wrong in one message, when a value is no experiment. */
export function checkDefinition(value: unknown): asserts value is Experiment {
  const problems = isPlain(value) ? findProblems(value) : [`it is an object with a task, not ${nameKind(value)}`];
  if (problems.length > 0) throw new RolloutError("usage_invalid", `this is no experiment: ${problems.join("; ")}`);
}

function findProblems(definition: Readonly<Record<string, unknown>>): readonly string[] {
  const unknown = Object.keys(definition).filter((name) => !members.includes(name));
  return [
    ...unknown.map((name) => `${name}: ${describeUnknown("member", name, members)}`),
    ...Object.entries(isRight).flatMap(([name, find]) => find(definition[name]) ?? []),
  ];
}

function findInParams(value: unknown): string | null {
  if (value === undefined) return null;
  if (!isPlain(value)) return `params is an object of defaults, not ${nameKind(value)}`;
  return findNotJson(value, "params");
}

function findInFunctions(member: string, value: unknown): string | null {
  if (value === undefined) return null;
  if (!isPlain(value)) return `${member} is an object of functions by name, not ${nameKind(value)}`;
  const wrong = Object.entries(value).find(([, one]) => typeof one !== "function");
  return wrong === undefined ? null : `${member}.${wrong[0]} is a function, not ${nameKind(wrong[1])}`;
}

function isPlain(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function nameKind(value: unknown): string {
  if (value === null || value === undefined) return String(value);
  if (Array.isArray(value)) return "a list";
  if (typeof value === "string") return "a text";
  return typeof value === "object" ? "an object" : `a ${typeof value}`;
}
