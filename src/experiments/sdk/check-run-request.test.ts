import { expect, test } from "vitest";
import { checkRunRequest } from "./check-run-request.ts";

const cwd = import.meta.dirname;
const experiment = { task: () => 1 };
const examples = [{ input: 1 }];
const here = "check-run-request.test.ts";

test.each([
  [{ examples }, "usage_invalid", "give exactly one of experiment, executor, file, command, not none"],
  [
    { examples, experiment, file: here },
    "usage_invalid",
    "give exactly one of experiment, executor, file, command, not experiment and file",
  ],
  [{ experiment }, "usage_invalid", "examples is missing"],
  [{ file: undefined, examples }, "usage_invalid", "file is missing"],
  [{ experiment, examples, maxWorker: 3 }, "usage_invalid", 'maxWorker: unknown option; did you mean "maxWorkers"?'],
  [{ file: "none.ts", examples }, "not_found", "none.ts does not exist"],
  [{ experiment, examples: "none.jsonl" }, "not_found", "none.jsonl does not exist"],
])("a request that cannot be run is refused: case %#", (request, code, message) => {
  expect(() => checkRunRequest(request, cwd)).toThrow(expect.objectContaining({ code, message }) as Error);
});

test("a request with one thing to run and every option is taken", () => {
  const every = {
    params: {},
    repetitions: 1,
    maxWorkers: 1,
    taskLimitMs: 1,
    evalLimitMs: 1,
    phased: true,
    evaluateFailed: true,
    signal: new AbortController().signal,
    onEvent: () => {},
    onNote: () => {},
  };
  expect(() => checkRunRequest({ file: here, examples, ...every }, cwd)).not.toThrow();
  expect(() => checkRunRequest({ experiment, examples: here }, cwd)).not.toThrow();
});
