import { describe, expect, test } from "vitest";
import type { TrialErrorFile, TrialResultFile } from "../output/trial-result-schema.ts";
import { causeOf, type FailureType } from "../trial/failure.ts";
import { judgeTasks, type CheckEvidence } from "./judge-tasks.ts";
import type { CheckedTrial, TaskVerdict } from "./task-verdict.ts";

type End = number | TrialErrorFile;

const failed = (type: FailureType, cause: "infrastructure" | null = null): TrialErrorFile => ({
  type,
  message: `${type} happened\nand more`,
  phase: null,
  cause: causeOf({ type, cause }),
});
const infrastructure = failed("environment_start_failed", "infrastructure");

function trialsOf(agent: string, ends: readonly End[], task = "task", warnings: string[] = []): CheckedTrial[] {
  return ends.map((end, index) => {
    const attempt = index + 1;
    const result: Partial<TrialResultFile> = {
      task_name: task,
      dataset_name: "tasks",
      agent_name: agent,
      attempt,
      reward: typeof end === "number" ? end : null,
      error: typeof end === "number" ? null : end,
      warnings,
    };
    return { dir: `job/${agent}/tasks/${task}__${attempt}`, result: result as TrialResultFile };
  });
}

interface Seen {
  readonly oracle: readonly End[];
  readonly nop: readonly End[];
  readonly offline?: readonly End[];
  readonly isOutOfReach?: boolean;
}

function judge({ oracle, nop, offline, isOutOfReach = false }: Seen): TaskVerdict {
  const evidence: CheckEvidence = {
    tasks: [{ datasetName: "tasks", taskName: "task", isOutOfReach }],
    attempts: 3,
    trials: [...trialsOf("oracle", oracle), ...trialsOf("nop", nop)],
    offlineTrials: offline ? trialsOf("oracle", offline) : null,
  };
  const [verdict] = judgeTasks(evidence);
  if (!verdict) throw new Error("no verdict");
  return verdict;
}

const kinds = (verdict: TaskVerdict): string[] => verdict.findings.map(({ kind }) => kind);

describe("a task is", () => {
  test("ok when its oracle passes every time and nop never", () => {
    expect(judge({ oracle: [1, 1, 2], nop: [0, 0, 0] })).toMatchObject({
      verdict: "ok",
      findings: [],
      oracle: { judged: 3, passed: 3 },
      nop: { judged: 3, passed: 0 },
      needsNetwork: null,
      warnings: [],
    });
  });

  test("one whose oracle fails when it never passes, with what it ended with and the trial that shows it", () => {
    const verdict = judge({ oracle: [0.5, failed("agent_execution_timeout"), 0.5], nop: [0, 0, 0] });
    expect(verdict.findings).toEqual([
      {
        kind: "oracle_fails",
        title: "oracle fails",
        message:
          "its solution passed 0 of 3: reward 0.5 (2 times); agent_execution_timeout: agent_execution_timeout happened and more",
        trialDir: "job/oracle/tasks/task__1",
      },
    ]);
  });

  test("one that passes untouched when nop passes every time", () => {
    const verdict = judge({ oracle: [1, 1, 1], nop: [1, 1, 1] });
    expect(kinds(verdict)).toEqual(["passes_untouched"]);
    expect(verdict.findings[0]).toMatchObject({
      trialDir: "job/nop/tasks/task__1",
      message: expect.stringContaining("3 of 3"),
    });
  });

  test("flaky when its oracle passes only sometimes, and the trial that failed is named", () => {
    const verdict = judge({ oracle: [1, failed("verifier_failed"), 1], nop: [0, 0, 0] });
    expect(verdict).toMatchObject({ verdict: "flaky", oracle: { judged: 3, passed: 2 } });
    expect(verdict.findings[0]).toMatchObject({
      message: expect.stringContaining("oracle passed 2 of 3, and else: verifier_failed"),
      trialDir: "job/oracle/tasks/task__2",
    });
  });

  test("both untouched and flaky when nop passes only sometimes", () => {
    expect(kinds(judge({ oracle: [1, 1, 1], nop: [0, 1, 0] }))).toEqual(["passes_untouched", "flaky"]);
  });

  test("broken when it could not start through its own fault, said once", () => {
    const invalid = failed("task_invalid");
    const verdict = judge({ oracle: [invalid, invalid, invalid], nop: [invalid, invalid, invalid] });
    expect(verdict).toMatchObject({ verdict: "broken", oracle: { judged: 0, passed: 0 } });
    expect(verdict.findings[0]?.message).toBe("task_invalid: task_invalid happened and more");
    const unbuilt = failed("environment_build_failed");
    expect(kinds(judge({ oracle: [unbuilt], nop: [unbuilt] }))).toEqual(["broken"]);
  });

  test("broken without a solution, and nop is judged all the same", () => {
    const invalid = failed("task_invalid");
    expect(kinds(judge({ oracle: [invalid, invalid, invalid], nop: [1, 1, 1] }))).toEqual([
      "broken",
      "passes_untouched",
    ]);
  });
});

describe("the network", () => {
  test("is needed when the tests pass with it and not without", () => {
    const verdict = judge({ oracle: [1, 1, 1], nop: [0, 0, 0], offline: [0] });
    expect(verdict).toMatchObject({ verdict: "needs_network", needsNetwork: true });
    expect(verdict.findings[0]?.message).toContain("reward 0");
  });

  test("is not needed when they pass without", () => {
    expect(judge({ oracle: [1, 1, 1], nop: [0, 0, 0], offline: [1] })).toMatchObject({
      verdict: "ok",
      needsNetwork: false,
    });
  });

  test("is not asked about for a task whose oracle does not always pass", () => {
    expect(kinds(judge({ oracle: [1, 0, 1], nop: [0, 0, 0], offline: [] }))).toEqual(["flaky"]);
    const failing = judge({ oracle: [0, 0, 0], nop: [0, 0, 0], offline: [0] });
    expect({ kinds: kinds(failing), needsNetwork: failing.needsNetwork }).toEqual({
      kinds: ["oracle_fails"],
      needsNetwork: null,
    });
  });

  test("leaves a task unjudged when infrastructure took that attempt away, or it never ran", () => {
    const passing = { oracle: [1, 1, 1], nop: [0, 0, 0] };
    expect(judge({ ...passing, offline: [infrastructure] })).toMatchObject({
      verdict: "not_judged",
      needsNetwork: null,
      findings: [{ title: "not judged: infrastructure" }],
    });
    expect(judge({ ...passing, offline: [] }).findings[0]?.title).toBe("not judged: never run");
  });
});

describe("what is nobody's fault", () => {
  test("leaves a task unjudged, with the reason", () => {
    const titles = [infrastructure, failed("trial_cancelled"), failed("internal_error")].map(
      (end) => judge({ oracle: [1, 1, end], nop: [0, 0, 0] }).findings[0]?.title,
    );
    expect(titles).toEqual([
      "not judged: infrastructure",
      "not judged: stopped before its end",
      "not judged: a bug of ours",
    ]);
    expect(judge({ oracle: [1, 1], nop: [0, 0, 0] }).findings[0]?.message).toBe("5 of 6 attempts could be judged");
  });

  test("does not hide a fault that the other attempts show, and never counts as one", () => {
    expect(judge({ oracle: [0, infrastructure, infrastructure], nop: [0, 0, 0] })).toMatchObject({
      verdict: "oracle_fails",
      oracle: { judged: 1, passed: 0 },
    });
    expect(kinds(judge({ oracle: [1, 1, infrastructure], nop: [0, 0, infrastructure] }))).toEqual(["not_judged"]);
  });

  test("is a task that could not be fetched this time", () => {
    const missing = failed("task_not_found");
    const seen = { oracle: [missing, missing, missing], nop: [missing, missing, missing] };
    expect(judge(seen).verdict).toBe("broken");
    expect(judge({ ...seen, isOutOfReach: true }).findings[0]).toMatchObject({
      kind: "not_judged",
      title: "not judged: infrastructure",
      message: expect.stringContaining("task_not_found"),
    });
  });

  test("is a teardown that failed after the reward", () => {
    const [first, ...others] = trialsOf("oracle", [1, 1, 1]);
    if (!first) throw new Error("no trial");
    const error = failed("environment_teardown_failed", "infrastructure");
    const trials = [{ ...first, result: { ...first.result, error } }, ...others, ...trialsOf("nop", [0, 0, 0])];
    const tasks = [{ datasetName: "tasks", taskName: "task", isOutOfReach: false }];
    expect(judgeTasks({ tasks, attempts: 3, trials, offlineTrials: null })[0]?.verdict).toBe("ok");
  });
});

describe("warnings", () => {
  test("of the trials are told once each with the attempts that had them", () => {
    const tasks = [{ datasetName: "tasks", taskName: "task", isOutOfReach: false }];
    const trials = [
      ...trialsOf("oracle", [1, 1], "task", ["the verifier ran no test", "untrusted: another shell"]),
      ...trialsOf("nop", [0, 0]),
    ];
    expect(judgeTasks({ tasks, attempts: 2, trials, offlineTrials: null })[0]).toMatchObject({
      verdict: "ok",
      warnings: ["oracle, 2 of 2: the verifier ran no test", "oracle, 2 of 2: untrusted: another shell"],
    });
  });

  test("tell of tests that end with an error, or differ, when nothing was done", () => {
    expect(judge({ oracle: [1, 1, 1], nop: [failed("verifier_failed"), 0, 0.5] })).toMatchObject({
      verdict: "ok",
      warnings: [
        expect.stringContaining("gets an error in place of a reward: verifier_failed"),
        expect.stringContaining("gets different rewards: 0, 0.5"),
      ],
    });
  });
});

test("the worst come first, and tasks of the same name in two datasets are two tasks", () => {
  const names = ["fine", "untouched", "failing", "lost"];
  const tasks = names.map((taskName) => ({ datasetName: "tasks", taskName, isOutOfReach: false }));
  const twin = { datasetName: "others", taskName: "fine", isOutOfReach: false };
  const trials = names.flatMap((name) => [
    ...trialsOf("oracle", [name === "failing" ? 0 : name === "lost" ? infrastructure : 1], name),
    ...trialsOf("nop", [name === "untouched" ? 1 : 0], name),
  ]);
  const verdicts = judgeTasks({ tasks: [...tasks, twin], attempts: 1, trials, offlineTrials: null });
  expect(verdicts.map(({ datasetName, taskName, verdict }) => `${datasetName}/${taskName} ${verdict}`)).toEqual([
    "tasks/failing oracle_fails",
    "tasks/untouched passes_untouched",
    "tasks/lost not_judged",
    "others/fine not_judged",
    "tasks/fine ok",
  ]);
});
