import { describe, expect, test } from "vitest";
import { executeTarget } from "./execute-target.ts";
import { resolveTarget } from "./resolve-target.ts";
import { withUsage, type ExecutionResult, type Target } from "./target.ts";

const signal = new AbortController().signal;

async function call(target: Target, input: unknown = "hi"): Promise<ExecutionResult & { warnings: string[] }> {
  const resolved = await resolveTarget({ target, targetType: undefined, targetId: undefined, registry: undefined });
  const warnings: string[] = [];
  const item = { id: "i", input: input as string, version: 1, expectedOutput: "ho", metadata: { level: 2 } };
  const result = await executeTarget({
    target: resolved,
    item,
    repeat: 3,
    signal,
    warn: (text) => warnings.push(text),
  });
  return { ...result, warnings };
}

describe("an agent", () => {
  test("generates with its own scorers off, and hands over what scorers are to see", async () => {
    let given: unknown[] = [];
    const agent = {
      getModel: async () => ({ specificationVersion: "v2" }),
      generate: async (...args: unknown[]) => {
        given = args;
        return {
          text: "ho",
          usage: { inputTokens: 3, outputTokens: 4 },
          traceId: "t1",
          scoringData: { input: { a: 1 }, output: [{ b: 2 }] },
          machinery: {},
        };
      },
    };
    const result = await call(agent);
    expect(given).toEqual(["hi", { scorers: {}, returnScorerData: true, abortSignal: signal }]);
    expect(result).toMatchObject({
      output: { text: "ho", usage: { inputTokens: 3, outputTokens: 4 } },
      traceId: "t1",
      scorerInput: { a: 1 },
      scorerOutput: [{ b: 2 }],
      usage: { costUsd: null, inputTokens: 3, outputTokens: 4 },
    });
    expect(result.output).not.toHaveProperty("machinery");
  });

  test("without getModel it generates", async () => {
    expect((await call({ generate: async () => "plain" })).output).toBe("plain");
  });

  test("with a model of the first generation it uses generateLegacy", async () => {
    const agent = {
      getModel: () => ({ specificationVersion: "v1" }),
      generate: () => Promise.reject(new Error("not me")),
      generateLegacy: async () => ({ text: "old" }),
    };
    expect((await call(agent)).output).toEqual({ text: "old" });
  });

  test("with such a model and no generateLegacy it fails", async () => {
    const agent = { getModel: () => ({ specificationVersion: "v1" }), generate: async () => "x" };
    expect((await call(agent)).error?.message).toContain("generateLegacy");
  });

  test("one that answers with an error has failed", async () => {
    expect((await call({ generate: async () => ({ text: "", error: new Error("refused") }) })).error?.message).toBe(
      "refused",
    );
  });
});

describe("a workflow", () => {
  function workflow(outcome: object): Target {
    return {
      // Awaited bare it would never resolve.
      // oxlint-disable-next-line unicorn/no-thenable
      then: () => {},
      createRun: (options: object) => {
        expect(options).toEqual({ disableScorers: true });
        return { start: async ({ inputData }: { inputData: unknown }) => ({ ...outcome, inputData }) };
      },
    } as Target;
  }

  test.each([
    [
      { status: "success", result: { n: 1 } },
      { output: { n: 1 }, error: null },
    ],
    [
      { status: "failed", error: new Error("step 2") },
      { output: null, error: { message: "step 2" } },
    ],
    [{ status: "failed", error: { message: "told" } }, { error: { message: "told" } }],
    [{ status: "failed" }, { error: { message: "the workflow failed" } }],
    [
      { status: "tripwire", tripwire: { reason: "rude" } },
      { error: { message: "the workflow was stopped by a tripwire: rude" } },
    ],
    [{ status: "suspended" }, { output: null }],
    [{ status: "paused" }, { output: null }],
    [{ status: "odd" }, { error: { message: 'the workflow ended with the unknown status "odd"' } }],
  ])("that ends with %o", async (outcome, expected) => {
    expect(await call(workflow(outcome))).toMatchObject(expected);
  });

  test("that waits for somebody is not supported", async () => {
    for (const status of ["suspended", "paused"])
      expect((await call(workflow({ status }))).error?.message).toContain(`${status}; a workflow that waits`);
  });

  test("is told to cancel when nobody waits for it any more", async () => {
    const stop = new AbortController();
    let isCancelled = false;
    const target = {
      createRun: () => ({ start: () => new Promise(() => {}), cancel: () => (isCancelled = true) }),
    };
    const resolved = await resolveTarget({ target, targetType: "workflow", targetId: undefined, registry: undefined });
    const work = executeTarget({
      target: resolved,
      item: { id: "i", input: 1, version: 1 },
      repeat: 1,
      signal: stop.signal,
      warn: () => {},
    });
    setImmediate(() => stop.abort(new Error("enough")));
    expect((await work).error?.message).toBe("enough");
    expect(isCancelled).toBe(true);
  });
});

describe("a scorer", () => {
  test("is run on the input as it is", async () => {
    const scorer = {
      id: "s",
      run: async (run: unknown) => ({ score: Object.keys(run as object).length, reason: "keys" }),
    };
    expect((await call(scorer, { input: 1, output: 2 })).output).toEqual({ score: 2, reason: "keys" });
  });

  test.each([Number.NaN, Number.POSITIVE_INFINITY, "1", undefined])(
    "that gives %s marks null, with a warning",
    async (score) => {
      const { output, warnings } = await call({ id: "s", run: async () => ({ score }) } as never);
      expect(output).toEqual({ score: null, reason: null });
      expect(warnings).toHaveLength(1);
    },
  );
});

describe("a function", () => {
  test("gets the input and what else is known of the item", async () => {
    let given: unknown;
    await call((_input: string, more: object) => (given = more));
    expect(given).toEqual({ itemId: "i", expectedOutput: "ho", metadata: { level: 2 }, repeat: 3, signal });
  });

  test("that answers nothing has null for an output", async () => {
    expect((await call(() => {})).output).toBeNull();
  });

  test("may tell what it used up", async () => {
    const result = await call(() => withUsage("ho", { costUsd: 0.5 }));
    expect(result).toMatchObject({ output: "ho", usage: { costUsd: 0.5, inputTokens: null } });
  });
});

test("nothing is called once the signal is aborted", async () => {
  let calls = 0;
  const target = await resolveTarget({
    target: () => calls++,
    targetType: undefined,
    targetId: undefined,
    registry: undefined,
  });
  const aborted = AbortSignal.abort(new Error("over"));
  const result = await executeTarget({
    target,
    item: { id: "i", input: 1, version: 1 },
    repeat: 1,
    signal: aborted,
    warn: () => {},
  });
  expect(result.error?.message).toBe("over");
  expect(calls).toBe(0);
});

test("what answers at once is there at once, unless the call was ended meanwhile; a promise of any library is waited for", async () => {
  const controller = new AbortController();
  const ask = async (target: Target): Promise<readonly unknown[]> => {
    const resolved = await resolveTarget({ target, targetType: undefined, targetId: undefined, registry: undefined });
    const item = { id: "i", input: 1, version: 1 };
    const given = executeTarget({ target: resolved, item, repeat: 1, signal: controller.signal, warn: () => {} });
    const { output, error } = await given;
    return [given instanceof Promise, output, error?.message];
  };
  // oxlint-disable-next-line unicorn/no-thenable
  const thenable = { then: (resolve: (value: number) => void) => resolve(3) };
  const ending = (): number => {
    controller.abort(new Error("over"));
    return 4;
  };
  expect(await ask(() => 1)).toEqual([false, 1, undefined]);
  expect(await ask(async () => 2)).toEqual([true, 2, undefined]);
  expect(await ask(() => thenable)).toEqual([true, 3, undefined]);
  expect(await ask(ending)).toEqual([false, null, "over"]);
});

test("registered targets are found in records and through the getters of other libraries", async () => {
  const agent = { generate: () => 1 };
  const found = (registry: object): Promise<unknown> =>
    resolveTarget({ target: undefined, targetType: "agent", targetId: "a", registry }).then(({ target }) => target);
  expect(await found({ agents: { a: agent } })).toBe(agent);
  expect(await found({ getAgentById: (id: string) => (id === "a" ? agent : undefined) })).toBe(agent);
  expect(
    await found({
      getAgentById: () => {
        throw new Error("unknown");
      },
      getAgent: async () => agent,
    }),
  ).toBe(agent);
});
