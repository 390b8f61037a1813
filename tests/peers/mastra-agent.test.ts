import { describe, expect } from "vitest";
import { z } from "zod";
import type { Peers } from "./find-peers.ts";
import { peerTest } from "./peer-test.ts";
import { modelOf, sayingModel, scriptedModel, weatherAnswers, type ModelCall } from "./scripted-model.ts";

interface Answer extends Readonly<Record<string, unknown>> {
  readonly text: string;
}

interface Agent {
  getModel(): Promise<{ readonly specificationVersion: string }>;
  generate(input: unknown, options?: object): Promise<Answer>;
  generateLegacy(input: unknown, options?: object): Promise<Answer>;
}

const options = { scorers: {}, returnScorerData: true };

async function agentOf(peers: Peers, model: object, more: object = {}): Promise<Agent> {
  const { Agent } = (await peers.load("@mastra/core/agent")) as { Agent: new (config: object) => Agent };
  return new Agent({ id: "agent", name: "agent", instructions: "answer", model, ...more });
}

async function weatherTool(peers: Peers): Promise<object> {
  const { createTool } = (await peers.load("@mastra/core/tools")) as {
    readonly createTool: (config: object) => object;
  };
  const inputSchema = z.object({ city: z.string() });
  return createTool({ id: "weather", description: "the weather", inputSchema, execute: async () => ({ celsius: 20 }) });
}

function legacyModel(): object {
  const rawCall = { rawPrompt: null, rawSettings: {} };
  const usage = { promptTokens: 3, completionTokens: 4 };
  return {
    specificationVersion: "v1",
    provider: "scripted",
    modelId: "legacy",
    defaultObjectGenerationMode: "json",
    doGenerate: async () => ({ rawCall, finishReason: "stop", usage, text: "old words" }),
  };
}

describe("an agent of Mastra", () => {
  peerTest("tells the version of its model, which decides between generate and generateLegacy", async (peers) => {
    const agent = await agentOf(peers, await sayingModel(peers, "hello"));
    const model = agent.getModel();
    expect(model).toBeInstanceOf(Promise);
    expect((await model).specificationVersion).toBe("v3");
    await expect(agent.generateLegacy("hi")).rejects.toMatchObject({ id: "AGENT_GENERATE_V2_MODEL_NOT_SUPPORTED" });

    const legacy = await agentOf(peers, legacyModel());
    expect((await legacy.getModel()).specificationVersion).toBe("v1");
    await expect(legacy.generate("hi")).rejects.toMatchObject({ id: "AGENT_GENERATE_V1_MODEL_NOT_SUPPORTED" });
    expect(await legacy.generateLegacy("hi", options)).toMatchObject({
      text: "old words",
      usage: { promptTokens: 3, completionTokens: 4 },
      scoringData: { input: { inputMessages: [{ role: "user" }] }, output: [{ role: "assistant" }] },
    });
  });

  peerTest("answers with text, usage, the tool calls of all steps and the data for scorers", async (peers) => {
    const tools = { weather: await weatherTool(peers) };
    const agent = await agentOf(peers, await scriptedModel(peers, weatherAnswers), { tools });
    const answer = await agent.generate("hi", { ...options, abortSignal: new AbortController().signal });
    const call = { type: "tool-call", payload: { toolCallId: "call-1", toolName: "weather", args: { city: "Rome" } } };
    expect(answer).toMatchObject({
      text: "Let me look.Sunny",
      usage: { inputTokens: 20, outputTokens: 10, totalTokens: 30 },
      finishReason: "stop",
      toolCalls: [call],
      toolResults: [{ payload: { toolName: "weather", result: { celsius: 20 } } }],
      steps: [{ toolCalls: [call] }, { toolCalls: [], text: "Sunny" }],
      scoringData: {
        input: { inputMessages: [{ role: "user" }], rememberedMessages: [] },
        output: [{ role: "assistant" }],
      },
    });
    expect(answer["error"]).toBeUndefined();
    expect(answer["traceId"]).toBeUndefined();
    expect(Object.keys(answer)).toContain("text");
  });

  peerTest("takes a text, an empty one, a message and messages, and refuses other objects", async (peers) => {
    const agent = await agentOf(peers, await sayingModel(peers, "hello"));
    const message = { role: "user", content: "hi" };
    for (const input of ["hi", "", message, [message]])
      expect((await agent.generate(input, options)).text).toBe("hello");
    await expect(agent.generate({ question: 1 }, options)).rejects.toMatchObject({ id: "AGENT_GENERATE_FAILED" });
  });

  peerTest("resolves with finishReason aborted on abort, even when its model ignores the signal", async (peers) => {
    const deaf = () => new Promise<never>(() => {});
    const polite = ({ abortSignal }: ModelCall) =>
      new Promise<never>((_, reject) => abortSignal?.addEventListener("abort", () => reject(abortSignal.reason)));
    for (const model of [deaf, polite]) {
      const agent = await agentOf(peers, await modelOf(peers, "v3", model));
      const controller = new AbortController();
      const answer = agent.generate("hi", { ...options, abortSignal: controller.signal });
      setTimeout(() => controller.abort(new Error("enough")), 20);
      expect(await answer).toMatchObject({ text: "", finishReason: "aborted", error: undefined });
      expect(await agent.generate("hi", { abortSignal: controller.signal })).toMatchObject({ finishReason: "aborted" });
    }
  });

  peerTest("throws its model's error as it is, with its fields", async (peers) => {
    const model = await modelOf(peers, "v3", async () => {
      throw Object.assign(new Error("slow down"), { statusCode: 429, isRetryable: true });
    });
    const agent = await agentOf(peers, model);
    await expect(agent.generate("hi", options)).rejects.toMatchObject({
      message: "slow down",
      statusCode: 429,
      isRetryable: true,
    });
  });

  peerTest("resolves with a tripwire when a processor stops it", async (peers) => {
    const processInput = async ({ abort }: { readonly abort: (reason: string) => never }) => abort("blocked");
    const inputProcessors = [{ id: "guard", name: "guard", processInput }];
    const agent = await agentOf(peers, await sayingModel(peers, "hello"), { inputProcessors });
    expect(await agent.generate("hi", options)).toMatchObject({
      text: "",
      tripwire: { reason: "blocked", processorId: "guard" },
      error: undefined,
    });
  });
});
