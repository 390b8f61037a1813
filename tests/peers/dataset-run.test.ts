import { describe, expect } from "vitest";
import { z } from "zod";
import { openStore, runDataset, type RunConfig, type Target } from "../../src/public/datasets.ts";
import type { Peers } from "./find-peers.ts";
import { peerTest } from "./peer-test.ts";
import { modelOf, sayingModel, scriptedModel, weatherAnswers } from "./scripted-model.ts";

const data: RunConfig["data"] = [
  { id: "a", input: "hello?", expectedOutput: "hello" },
  { id: "b", input: "bye?", expectedOutput: "bye" },
];

type Create = (config: object) => Target;

async function agentOf(peers: Peers, model: object, more: object = {}): Promise<Target> {
  const { Agent } = (await peers.load("@mastra/core/agent")) as { Agent: new (config: object) => Target };
  return new Agent({ id: "greeter", name: "greeter", instructions: "greet", model, ...more });
}

async function workflowOf(
  peers: Peers,
  execute: (step: { inputData: string }) => unknown,
): Promise<{ target: Target }> {
  const { createStep, createWorkflow } = (await peers.load("@mastra/core/workflows")) as Record<
    "createStep" | "createWorkflow",
    Create
  >;
  const shape = { inputSchema: z.string(), outputSchema: z.unknown() };
  const workflow = createWorkflow({ id: "flow", ...shape }) as unknown as {
    then(step: object): { commit(): Target };
  };
  // In an object of its own: a promise of a workflow would never resolve.
  return { target: workflow.then(createStep({ id: "step", ...shape, execute })).commit() };
}

async function scorerOf(
  peers: Peers,
  score: (run: { output: unknown; groundTruth: unknown }) => number,
): Promise<object> {
  const { createScorer } = (await peers.load("@mastra/core/evals")) as {
    createScorer: (config: object) => {
      generateScore(step: (context: { run: { output: unknown; groundTruth: unknown } }) => number): object;
    };
  };
  return createScorer({ id: "same", name: "Same", description: "same words" }).generateScore(({ run }) => score(run));
}

describe("objects of Mastra in a dataset run", () => {
  peerTest("an agent answers, is marked by a scorer of its own library, and tells what it used", async (peers) => {
    const scorer = await scorerOf(peers, ({ output, groundTruth }) =>
      JSON.stringify(output).includes(String(groundTruth)) ? 1 : 0,
    );
    const summary = await runDataset({
      data,
      target: await agentOf(peers, await sayingModel(peers, "hello")),
      scorers: [scorer as never],
    });
    expect(summary).toMatchObject({ status: "completed", succeededCount: 2, error: null });
    expect(summary.results.map(({ scores }) => scores[0])).toMatchObject([
      { scorerId: "same", scorerName: "Same", score: 1, error: null },
      { scorerId: "same", score: 0, error: null },
    ]);
    expect(summary.results[0]).toMatchObject({
      output: { text: "hello", finishReason: "stop" },
      usage: { inputTokens: 10, outputTokens: 5, costUsd: null },
    });
  });

  peerTest("an agent that uses a tool keeps its calls, and everything fits in a store", async (peers) => {
    const { createTool } = (await peers.load("@mastra/core/tools")) as { createTool: (config: object) => object };
    const weather = createTool({
      id: "weather",
      description: "the weather",
      inputSchema: z.object({ city: z.string() }),
      execute: async () => ({ celsius: 20 }),
    });
    await using storage = await openStore("memory:");
    const summary = await runDataset({
      storage,
      data: [{ id: "a", input: "Rome?" }],
      target: await agentOf(peers, await scriptedModel(peers, weatherAnswers), { tools: { weather } }),
    });
    const { entries } = await storage.runs.units(summary.runId, { page: { after: null, limit: 1 } });
    expect(entries[0]).toMatchObject({
      status: "completed",
      output: {
        text: expect.stringContaining("Sunny") as string,
        toolCalls: [{ payload: { toolName: "weather", args: { city: "Rome" } } }],
      },
    });
  });

  peerTest(
    "an agent whose model hangs is cut off by the item's deadline, one whose model is busy is tried again",
    async (peers) => {
      const hanging = await modelOf(peers, "v3", () => new Promise(() => {}));
      const cut = await runDataset({ data, target: await agentOf(peers, hanging), itemTimeout: 300 });
      expect(cut).toMatchObject({ status: "failed", failedCount: 2 });
      expect(cut.results[0]?.error).toBe('item "a" exceeded its limit of 0.3 seconds');

      let calls = 0;
      const saying = (await sayingModel(peers, "hello")) as { doGenerate(call: object): Promise<unknown> };
      const busy = await modelOf(peers, "v3", async (call) => {
        if (++calls === 1) throw Object.assign(new Error("overloaded"), { statusCode: 529 });
        return await saying.doGenerate(call);
      });
      const target = await agentOf(peers, busy, { maxRetries: 0 });
      const retried = await runDataset({ data: [{ input: "hello?" }], target, maxRetries: 2, retryDelay: 1 });
      expect(retried).toMatchObject({ status: "completed", succeededCount: 1 });
    },
  );

  peerTest("a workflow answers and fails, and is never awaited", async (peers) => {
    const { target } = await workflowOf(peers, async ({ inputData }) => {
      if (inputData === "bye?") throw new Error("no goodbyes");
      return { said: inputData };
    });
    const summary = await runDataset({ data, target });
    expect(summary).toMatchObject({ status: "completed", succeededCount: 1, failedCount: 1 });
    expect(summary.results[0]?.output).toEqual({ said: "hello?" });
    expect(summary.results[1]?.error).toContain("no goodbyes");
  });

  peerTest("a scorer is itself evaluated", async (peers) => {
    const target = (await scorerOf(peers, ({ output }) => String(output).length)) as Target;
    const summary = await runDataset({ data: [{ input: { input: "q", output: "four" } }], target });
    expect(summary.results[0]?.output).toMatchObject({ score: 4 });
  });

  peerTest("targets and scorers are found by id in a Mastra instance", async (peers) => {
    const { Mastra } = (await peers.load("@mastra/core")) as { Mastra: new (config: object) => object };
    const registry = new Mastra({
      agents: { greeter: await agentOf(peers, await sayingModel(peers, "hello")) },
      scorers: { same: await scorerOf(peers, () => 0.5) },
      logger: false,
    });
    const summary = await runDataset({ data, registry, targetType: "agent", targetId: "greeter", scorers: ["same"] });
    expect(summary.scorers).toMatchObject([{ scorerId: "same", mean: 0.5, scored: 2 }]);
    await expect(runDataset({ data, registry, targetType: "agent", targetId: "nobody" })).rejects.toThrow("nobody");
  });
});

describe("the AI SDK in a dataset run", () => {
  peerTest("a function that generates text is a target, and its answer survives being stored", async (peers) => {
    const { generateText } = (await peers.load("ai")) as { generateText: (options: object) => Promise<unknown> };
    const model = await sayingModel(peers, "hello");
    await using storage = await openStore("memory:");
    const summary = await runDataset({
      storage,
      data,
      target: (prompt: string, { signal }) => generateText({ model, prompt, abortSignal: signal }),
      scorers: [
        function same({ output, groundTruth }) {
          return (output as { text: string }).text === groundTruth ? 1 : 0;
        },
      ],
    });
    expect(summary.scorers).toMatchObject([{ mean: 0.5 }]);
    const { entries } = await storage.runs.units(summary.runId, { page: { after: null, limit: 1 } });
    expect(entries[0]?.output).toMatchObject({ text: "hello", finishReason: "stop" });
    expect(summary.results[0]?.usage).toMatchObject({ inputTokens: 10, outputTokens: 5 });
  });

  peerTest("an agent of its own kind is called in its own way", async (peers) => {
    const { ToolLoopAgent } = (await peers.load("ai")) as { ToolLoopAgent: new (options: object) => Target };
    const target = new ToolLoopAgent({ id: "looper", model: await sayingModel(peers, "hello") });
    const summary = await runDataset({ data, target });
    expect(summary.results[0]).toMatchObject({ error: null, output: { text: "hello" } });
  });
});
