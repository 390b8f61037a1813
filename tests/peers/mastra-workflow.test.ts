import { setTimeout } from "node:timers/promises";
import { describe, expect } from "vitest";
import { z } from "zod";
import type { Peers } from "./find-peers.ts";
import { peerTest } from "./peer-test.ts";

interface Run {
  start(options: object): Promise<Readonly<Record<string, unknown>>>;
  cancel(): Promise<void>;
}

interface Workflow {
  then(step: object): Workflow;
  commit(): Workflow;
  createRun(options: object): Promise<Run>;
}

interface StepContext {
  readonly inputData: { readonly n: number };
  readonly abortSignal: AbortSignal;
  readonly suspend: (payload: object) => Promise<unknown>;
  readonly bail: (output: object) => unknown;
}

type Execute = (context: StepContext) => Promise<unknown>;

const addOne: Execute = async ({ inputData }) => ({ n: inputData.n + 1 });

// Never returned from an async function: awaiting a workflow is what ruins it.
interface Held {
  readonly workflow: Workflow;
}

async function workflowOf(peers: Peers, ...steps: readonly Execute[]): Promise<Held> {
  const { createWorkflow, createStep } = (await peers.load("@mastra/core/workflows")) as {
    readonly createWorkflow: (config: object) => Workflow;
    readonly createStep: (config: object) => object;
  };
  const numbers = z.object({ n: z.number() });
  const shape = { inputSchema: numbers, outputSchema: numbers, suspendSchema: z.any() };
  let workflow = createWorkflow({ id: "flow", ...shape });
  for (const [index, execute] of steps.entries()) {
    // oxlint-disable-next-line promise/catch-or-return, promise/valid-params
    workflow = workflow.then(createStep({ id: `step-${index + 1}`, ...shape, execute }));
  }
  return { workflow: workflow.commit() };
}

async function startOf(
  peers: Peers,
  execute: Execute,
  options: object = {},
): Promise<Readonly<Record<string, unknown>>> {
  const { workflow } = await workflowOf(peers, execute, addOne);
  const run = await workflow.createRun({ disableScorers: true });
  return run.start({ inputData: { n: 1 }, ...options });
}

describe("a workflow of Mastra", () => {
  peerTest("is thenable: awaiting it never settles and adds a step that cannot run", async (peers) => {
    const { workflow } = await workflowOf(peers, addOne);
    expect(workflow).toHaveProperty("then", expect.any(Function));
    const awaited = Promise.resolve(workflow).then(() => "settled");
    expect(await Promise.race([awaited, setTimeout(200, "pending")])).toBe("pending");
    const run = await workflow.createRun({ disableScorers: true });
    expect(run).not.toHaveProperty("then");
    expect(await run.start({ inputData: { n: 1 } })).toMatchObject({ status: "failed", error: { name: "TypeError" } });
  });

  peerTest("ends with success and its result, also by bail", async (peers) => {
    expect(await startOf(peers, addOne)).toMatchObject({ status: "success", result: { n: 3 } });
    expect(await startOf(peers, async ({ bail }) => bail({ n: 9 }))).toMatchObject({
      status: "success",
      result: { n: 9 },
    });
  });

  peerTest("ends with failed and an error that is a plain object with the fields of what was thrown", async (peers) => {
    const result = await startOf(peers, async () => {
      throw Object.assign(new TypeError("boom"), { code: "EBOOM" });
    });
    expect(result).toMatchObject({ status: "failed", error: { message: "boom", name: "TypeError", code: "EBOOM" } });
    expect(result["error"]).not.toBeInstanceOf(Error);
  });

  peerTest("ends with tripwire and its reason", async (peers) => {
    const { TripWire } = (await peers.load("@mastra/core/agent")) as {
      TripWire: new (reason: string, options: object, processorId: string) => Error;
    };
    const result = await startOf(peers, async () => {
      throw new TripWire("not allowed", { retry: false, metadata: { rule: 1 } }, "guard");
    });
    expect(result).toMatchObject({ status: "tripwire", tripwire: { reason: "not allowed", processorId: "guard" } });
    expect(result["error"]).toBeUndefined();
  });

  peerTest("ends with suspended and the paths that wait", async (peers) => {
    expect(await startOf(peers, ({ suspend }) => suspend({ why: "a person is asked" }))).toMatchObject({
      status: "suspended",
      suspended: [["step-1"]],
      suspendPayload: { "step-1": { why: "a person is asked" } },
    });
  });

  peerTest("ends with paused when it goes step by step", async (peers) => {
    const result = await startOf(peers, addOne, { perStep: true });
    expect(result).toMatchObject({ status: "paused", steps: { "step-1": { output: { n: 2 } } } });
    expect(result["result"]).toBeUndefined();
  });

  peerTest("ends with canceled when its run is cancelled, and its step's signal is aborted", async (peers) => {
    const { workflow } = await workflowOf(peers, async ({ abortSignal }) => {
      await new Promise((resolve) => abortSignal.addEventListener("abort", resolve));
      return { n: 0 };
    });
    const run = await workflow.createRun({ disableScorers: true });
    const result = run.start({ inputData: { n: 1 } });
    await setTimeout(20);
    await run.cancel();
    expect(await result).toMatchObject({ status: "canceled" });
  });

  peerTest("throws over input that does not fit its schema", async (peers) => {
    await expect(startOf(peers, addOne, { inputData: { n: "one" } })).rejects.toMatchObject({
      id: "WORKFLOW_SCHEMA_VALIDATION_FAILED",
    });
  });
});
