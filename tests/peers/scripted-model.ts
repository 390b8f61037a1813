import type { Peers } from "./find-peers.ts";

/** A part of what a model answers. */
export type Part =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "tool-call"; readonly toolCallId: string; readonly toolName: string; readonly input: string };

/** What a model is called with, as far as the tests look at it. */
export interface ModelCall {
  readonly abortSignal?: AbortSignal;
}

type Generate = (call: ModelCall) => Promise<unknown>;

/** A language model of the AI SDK's own mocks that does what it is told. */
export async function modelOf(peers: Peers, version: "v3" | "v4", doGenerate: Generate): Promise<object> {
  const { MockLanguageModelV3, MockLanguageModelV4 } = (await peers.load("ai/test")) as Record<
    "MockLanguageModelV3" | "MockLanguageModelV4",
    new (options: { doGenerate: Generate }) => object
  >;
  return new { v3: MockLanguageModelV3, v4: MockLanguageModelV4 }[version]({ doGenerate });
}

/** A model that gives the answers one after the other; a tool call asks for the next one. */
export function scriptedModel(peers: Peers, answers: readonly (readonly Part[])[]): Promise<object> {
  let next = 0;
  return modelOf(peers, "v3", async () => answerOf(answers[next++ % answers.length]!));
}

/** A model that says the text. */
export function sayingModel(peers: Peers, text: string): Promise<object> {
  return scriptedModel(peers, [[{ type: "text", text }]]);
}

function answerOf(content: readonly Part[]): object {
  const unified = content.some(({ type }) => type === "tool-call") ? "tool-calls" : "stop";
  const usage = { inputTokens: { total: 10, noCache: 10 }, outputTokens: { total: 5, text: 5 } };
  return { content, finishReason: { unified, raw: unified }, usage, warnings: [] };
}

/** Some words and a call of a tool named `weather`, then the word "Sunny". */
export const weatherAnswers: readonly (readonly Part[])[] = [
  [
    { type: "text", text: "Let me look." },
    { type: "tool-call", toolCallId: "call-1", toolName: "weather", input: '{"city":"Rome"}' },
  ],
  [{ type: "text", text: "Sunny" }],
];
