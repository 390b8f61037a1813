import { expect, test } from "vitest";
import { textOf } from "./text-of.ts";

test("a text is itself, an answer has it in text, and nothing has none", () => {
  expect(textOf("a")).toBe("a");
  expect(textOf({ text: "b", steps: [] })).toBe("b");
  expect(textOf(3)).toBe("3");
  expect(textOf({ a: [1] })).toBe('{"a":[1]}');
  expect(textOf(null)).toBeNull();
  expect(textOf(undefined)).toBeNull();
});

test("of messages it is what the assistant said last, after its calls of tools", () => {
  const text = (words: string) => ({ type: "text", text: words });
  const parts = [
    text("Let me look."),
    { type: "tool-invocation" },
    { type: "step-start" },
    text("It is sunny."),
    text("Enjoy!"),
  ];
  expect(textOf([{ role: "assistant", content: { format: 2, parts } }])).toBe("It is sunny.\nEnjoy!");
  expect(
    textOf([
      { role: "assistant", content: "a" },
      { role: "user", content: "b" },
      { role: "assistant", content: "c" },
    ]),
  ).toBe("c");
  expect(
    textOf([
      { role: "assistant", content: [text("d"), { type: "tool-call" }] },
      { role: "tool", content: [] },
    ]),
  ).toBe("d");
  expect(textOf([{ role: "assistant", parts: [text("e")] }])).toBe("e");
  expect(textOf([{ role: "user", content: "f" }])).toBeNull();
});

test("a value that JSON cannot hold has no text", () => {
  const loop: unknown[] = [];
  loop.push(loop);
  expect(textOf(loop)).toBeNull();
});
