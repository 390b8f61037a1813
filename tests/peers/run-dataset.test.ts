import { describe, expect } from "vitest";
import { z } from "zod";
import { runDataset, type RunConfig } from "../../src/public/datasets.ts";
import { exact, judge, toolCallAccuracy } from "../../src/public/scorers.ts";
import type { Peers } from "./find-peers.ts";
import { peerTest } from "./peer-test.ts";
import { sayingModel, scriptedModel, weatherAnswers } from "./scripted-model.ts";

type Make = (config: object) => object;

const data = [{ input: "How is the weather in Rome?", expectedOutput: "Sunny" }];
const expected = () => [{ name: "weather", args: { city: "Rome" } }];
const inputSchema = z.object({ city: z.string() });
const tool = { id: "weather", description: "the weather", inputSchema, execute: async () => ({ celsius: 20 }) };

async function weatherAgent(peers: Peers): Promise<object> {
  const { Agent } = (await peers.load("@mastra/core/agent")) as { Agent: new (config: object) => object };
  const { createTool } = (await peers.load("@mastra/core/tools")) as { readonly createTool: Make };
  const model = await scriptedModel(peers, weatherAnswers);
  return new Agent({ id: "agent", name: "agent", instructions: "answer", model, tools: { weather: createTool(tool) } });
}

async function scoresOf(config: Partial<RunConfig>): Promise<Record<string, number | null>> {
  const { results } = await runDataset({ data, ...config });
  expect(results[0]?.error).toBeNull();
  return Object.fromEntries((results[0]?.scores ?? []).map(({ scorerId, score }) => [scorerId, score]));
}

describe("our scorers read", () => {
  const scorers = [exact(), toolCallAccuracy({ expected, args: "exact" })];

  peerTest("the last words and the tool calls of an agent of Mastra", async (peers) => {
    const target = (await weatherAgent(peers)) as RunConfig["target"];
    expect(await scoresOf({ target, scorers })).toEqual({ exact: 1, "tool-call-accuracy": 1 });
  });

  peerTest("those of an agent and of a function of the AI SDK", async (peers) => {
    const sdk = (await peers.load("ai")) as {
      readonly tool: Make;
      readonly generateText: (options: object) => Promise<object>;
      readonly isStepCount: (count: number) => object;
      readonly ToolLoopAgent: new (options: object) => object;
    };
    const tools = { weather: sdk.tool(tool) };
    const agent = new sdk.ToolLoopAgent({ model: await scriptedModel(peers, weatherAnswers), tools });
    expect(await scoresOf({ target: agent as RunConfig["target"], scorers })).toEqual({
      exact: 1,
      "tool-call-accuracy": 1,
    });
    const model = await scriptedModel(peers, weatherAnswers);
    const target = (prompt: string) => sdk.generateText({ model, prompt, tools, stopWhen: sdk.isStepCount(3) });
    expect(await scoresOf({ target, scorers })).toEqual({ exact: 1, "tool-call-accuracy": 1 });
  });

  peerTest("what a model of the AI SDK says as a judge", async (peers) => {
    const { generateText } = (await peers.load("ai")) as {
      readonly generateText: (options: object) => Promise<{ readonly text: string }>;
    };
    const model = await sayingModel(peers, '```json\n{"reason": "It is.", "choice": "pass"}\n```');
    const friendly = judge({
      ask: (prompt, { signal }) => generateText({ model, prompt, abortSignal: signal }),
      criteria: "It is friendly.",
    });
    expect(await scoresOf({ target: () => "Hello!", scorers: [friendly] })).toEqual({ judge: 1 });
  });
});

describe("scorers of Mastra mark", () => {
  peerTest("what a workflow of Mastra gives", async (peers) => {
    const { createWorkflow, createStep } = (await peers.load("@mastra/core/workflows")) as {
      readonly createWorkflow: (config: object) => { then(step: object): { commit(): object } };
      readonly createStep: Make;
    };
    const { createScorer } = (await peers.load("@mastra/core/evals")) as {
      readonly createScorer: (config: object) => {
        generateScore(step: (args: { run: { output: { n: number }; groundTruth: number } }) => number): object;
      };
    };
    const shape = { inputSchema: z.object({ n: z.number() }), outputSchema: z.object({ n: z.number() }) };
    const execute = async ({ inputData }: { inputData: { n: number } }) => ({ n: inputData.n * 2 });
    const start = createWorkflow({ id: "double", ...shape });
    // oxlint-disable-next-line promise/catch-or-return, promise/valid-params
    const target = start.then(createStep({ id: "step", ...shape, execute })).commit() as RunConfig["target"];
    const scorer = createScorer({ id: "near", description: "is near" }).generateScore(
      ({ run }) => run.output.n / run.groundTruth,
    );
    const scorers = [scorer] as unknown as RunConfig["scorers"];
    expect(await scoresOf({ data: [{ input: { n: 2 }, expectedOutput: 8 }], target, scorers })).toEqual({ near: 0.5 });
  });
});
