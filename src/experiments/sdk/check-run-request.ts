import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { RolloutError } from "../../base/rollout-error.ts";
import { describeUnknown } from "../../base/suggest.ts";

const choices = ["experiment", "executor", "file", "command"];
const options = [
  "examples",
  "params",
  "repetitions",
  "maxWorkers",
  "taskLimitMs",
  "evalLimitMs",
  "phased",
  "evaluateFailed",
  "signal",
  "onEvent",
  "onNote",
];

/** Throws when a request to run an experiment has options that are not known, or not exactly one thing to run. */
export function checkRunRequest(request: object, cwd: string): void {
  const known = [...choices, ...options];
  for (const name of Object.keys(request))
    if (!known.includes(name)) throw refuse(`${name}: ${describeUnknown("option", name, known)}`);
  const given: Readonly<Record<string, unknown>> = { ...request };
  const chosen = choices.filter((name) => name in given);
  const [choice = "", ...others] = chosen;
  if (choice === "" || others.length > 0)
    throw refuse(`give exactly one of ${choices.join(", ")}, not ${chosen.join(" and ") || "none"}`);
  for (const name of [choice, "examples"]) if (given[name] === undefined) throw refuse(`${name} is missing`);
  const { file, examples } = given;
  for (const path of [file, examples])
    if (typeof path === "string" && !existsSync(resolve(cwd, path)))
      throw new RolloutError("not_found", `${path} does not exist`);
}

function refuse(words: string): RolloutError {
  return new RolloutError("usage_invalid", words);
}
