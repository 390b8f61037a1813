import { describe, expect, test } from "vitest";
import { score } from "./testing/score.ts";
import { toolCallAccuracy, type ToolCallAccuracyOptions } from "./tool-call-accuracy.ts";

const find = { name: "find", args: { city: "Rome", days: 3 } };
const book = { name: "book", args: { id: 7 } };

async function mark(options: ToolCallAccuracyOptions, groundTruth: unknown, output: unknown): Promise<number | null> {
  return (await score(toolCallAccuracy(options), { output, groundTruth })).score;
}

describe("tool call accuracy", () => {
  test("marks the expected calls 1 in any order, unless the order counts", async () => {
    expect(await mark({}, [find, book], [book, find])).toBe(1);
    expect(await mark({ order: "same" }, [find, book], [book, find])).toBe(1 / 3);
    expect(await mark({ order: "same" }, [find, book], [find, book])).toBe(1);
  });

  test("pairs calls of one tool so that the most is right", async () => {
    const rome = { name: "find", args: { city: "Rome" } };
    const oslo = { name: "find", args: { city: "Oslo" } };
    expect(await mark({}, [rome, oslo], [oslo, rome])).toBe(1);
  });

  test("gives half for the name and half for the share of right arguments", async () => {
    const almost = { name: "find", args: { city: "Rome", days: 4 } };
    expect(await mark({}, [find], [almost])).toBe(0.75);
    expect(await mark({ args: "exact" }, [find], [almost])).toBe(0);
    expect(await mark({ args: "ignore" }, [find], [almost])).toBe(1);
    const more = { name: "find", args: { city: "Rome", days: 3, sort: "price" } };
    expect(await mark({ args: "subset" }, [find], [more])).toBe(1);
    expect(await mark({ args: "exact" }, [find], [more])).toBe(0);
    expect(await mark({ args: "exact" }, [{ name: "find" }], [more])).toBe(1);
  });

  test("counts calls that nobody expected, unless they are allowed", async () => {
    expect(await mark({}, [find], [find, book])).toBe(0.5);
    expect(await mark({ extra: "allow" }, [find], [find, book])).toBe(1);
    expect(await mark({}, [], [])).toBe(1);
    expect(await mark({}, [], [find])).toBe(0);
    expect(await mark({ extra: "allow" }, [], [find])).toBe(1);
  });

  test("says what is missing, wrong and not expected", async () => {
    const made = [{ name: "find", args: {} }, { name: "pay" }];
    expect(await score(toolCallAccuracy(), { output: made, groundTruth: [find, book] })).toEqual({
      score: 0.5 / 3,
      reason: 'missing: "book"; wrong arguments: "find"; not expected: "pay"',
      metadata: { expected: 2, made: 2 },
    });
  });

  test("reads the calls of Mastra, the AI SDK and chat completions", async () => {
    const { name, args } = find;
    const payload = { toolCallId: "1", toolName: name, args };
    const outputs = [
      { toolCalls: [find] },
      { toolCalls: [{ toolName: name, args }] },
      { text: "", toolCalls: [{ type: "tool-call", payload }] },
      { text: "", toolCalls: [], steps: [{ toolCalls: [{ type: "tool-call", payload }] }, { toolCalls: [] }] },
      { toolCalls: [{ type: "tool-call", toolName: name, input: args }] },
      { steps: [{ content: [{ type: "tool-call", toolName: name, input: args }, { type: "tool-result" }] }] },
      { toolCalls: [find], steps: ["a step of the user's own"] },
      { tool_calls: [{ type: "function", function: { name, arguments: JSON.stringify(args) } }] },
      [{ role: "assistant", content: { format: 2, parts: [{ type: "tool-invocation", toolInvocation: payload }] } }],
      [{ role: "assistant", content: { toolInvocations: [payload] } }],
      [
        { role: "assistant", content: [{ type: "tool-call", toolName: name, input: args }] },
        { role: "tool", content: [] },
      ],
      {
        choices: [
          { message: { content: null, tool_calls: [{ function: { name, arguments: JSON.stringify(args) } }] } },
        ],
      },
      { type: "message", role: "assistant", content: [{ type: "tool_use", id: "1", name, input: args }] },
      [
        { role: "user", content: "find it" },
        {
          role: "assistant",
          content: [
            { type: "text", text: "so" },
            { type: "tool_use", name, input: args },
          ],
        },
      ],
    ];
    for (const output of outputs) expect(await mark({ args: "exact" }, [find], output), JSON.stringify(output)).toBe(1);
    expect(await mark({}, { toolCalls: [find] }, [{ role: "assistant", content: "no call" }])).toBe(0);
  });

  test("marks an answer without a call 0 when one was expected, and 1 when none was", async () => {
    const answers = [
      "It is sunny.",
      { text: "It is sunny." },
      { text: "It is sunny.", steps: [] },
      { role: "assistant", content: "It is sunny." },
      { role: "assistant", content: "It is sunny.", tool_calls: null },
      { role: "assistant", content: [{ type: "text", text: "It is sunny." }] },
      { choices: [{ message: { role: "assistant", content: "It is sunny." } }] },
      { toolCalls: [] },
    ];
    for (const output of answers) {
      expect(await mark({}, [find], output), JSON.stringify(output)).toBe(0);
      expect(await mark({}, [], output), JSON.stringify(output)).toBe(1);
    }
    const failed = await score(toolCallAccuracy(), { output: null, groundTruth: [find], error: "it broke" });
    expect(failed).toMatchObject({ score: null });
  });

  test("gives no mark when calls are not to be found, or are too many", async () => {
    expect(await score(toolCallAccuracy(), { output: { city: "Rome" }, groundTruth: [find] })).toMatchObject({
      score: null,
    });
    expect(await score(toolCallAccuracy(), { output: [find], groundTruth: "text" })).toMatchObject({ score: null });
    const many = Array.from({ length: 501 }, () => find);
    expect(await score(toolCallAccuracy(), { output: many, groundTruth: [find] })).toMatchObject({ score: null });
  });
});
