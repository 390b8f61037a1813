import { describe, expect } from "vitest";
import { z } from "zod";
import type { Peers } from "./find-peers.ts";
import { peerTest } from "./peer-test.ts";
import { modelOf, scriptedModel, weatherAnswers } from "./scripted-model.ts";

interface AiSdk {
  readonly generateText: (options: object) => Promise<Readonly<Record<string, unknown>>>;
  readonly tool: (config: object) => object;
  readonly isStepCount: (count: number) => object;
  readonly APICallError: new (options: object) => Error;
  readonly ToolLoopAgent: new (options: object) => {
    generate(request: object): Promise<Readonly<Record<string, unknown>>>;
  };
}

async function sdkOf(peers: Peers): Promise<AiSdk> {
  return (await peers.load("ai")) as AiSdk;
}

async function weatherTools(peers: Peers): Promise<object> {
  const inputSchema = z.object({ city: z.string() });
  const { tool } = await sdkOf(peers);
  return { weather: tool({ description: "the weather", inputSchema, execute: async () => ({ celsius: 20 }) }) };
}

describe("the AI SDK", () => {
  peerTest("answers with getters, so that JSON keeps the steps and loses the text", async (peers) => {
    const { generateText, isStepCount } = await sdkOf(peers);
    const model = await scriptedModel(peers, weatherAnswers);
    const tools = await weatherTools(peers);
    const answer = await generateText({ model, prompt: "hi", tools, stopWhen: isStepCount(5) });
    const call = { type: "tool-call", toolCallId: "call-1", toolName: "weather", input: { city: "Rome" } };
    expect(answer["text"]).toBe("Sunny");
    expect(answer["toolCalls"]).toMatchObject([call]);
    expect(answer["usage"]).toMatchObject({ inputTokens: 20, outputTokens: 10, totalTokens: 30 });
    const stored = JSON.parse(JSON.stringify(answer)) as Readonly<Record<string, unknown>>;
    expect(stored).not.toHaveProperty("text");
    expect(stored).not.toHaveProperty("toolCalls");
    expect(stored["steps"]).toMatchObject([
      { content: [{ text: "Let me look." }, call, {}] },
      { content: [{ text: "Sunny" }] },
    ]);
  });

  peerTest("has an agent that takes a prompt in an object and has no getModel", async (peers) => {
    const { ToolLoopAgent } = await sdkOf(peers);
    const agent = new ToolLoopAgent({
      model: await scriptedModel(peers, weatherAnswers),
      tools: await weatherTools(peers),
    });
    expect((await agent.generate({ prompt: "hi" }))["text"]).toBe("Sunny");
    expect(agent).not.toHaveProperty("getModel");
  });

  peerTest("says in fields of its error whether a call may be made again", async (peers) => {
    const { APICallError, generateText } = await sdkOf(peers);
    const model = await modelOf(peers, "v4", async () => {
      throw new APICallError({
        message: "slow down",
        url: "",
        requestBodyValues: {},
        statusCode: 429,
        isRetryable: true,
        responseHeaders: { "retry-after-ms": "1" },
      });
    });
    const refusal = { name: "AI_APICallError", statusCode: 429, isRetryable: true };
    await expect(generateText({ model, prompt: "hi", maxRetries: 0 })).rejects.toMatchObject(refusal);
    await expect(generateText({ model, prompt: "hi", maxRetries: 1 })).rejects.toMatchObject({
      name: "AI_RetryError",
      lastError: refusal,
    });
  });
});
