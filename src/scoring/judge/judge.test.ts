import { describe, expect, test } from "vitest";
import { score } from "../testing/score.ts";
import { judge, type JudgeOptions } from "./judge.ts";

const item = { input: "2 + 2?", output: "4", groundTruth: "four" };

/** Somebody who answers in turn with these, and the prompts that were put. */
function answering(...answers: readonly (string | Error)[]): { ask: JudgeOptions["ask"]; prompts: string[] } {
  const prompts: string[] = [];
  const ask = async (prompt: string): Promise<string> => {
    prompts.push(prompt);
    const answer = answers[(prompts.length - 1) % answers.length] ?? "";
    if (typeof answer === "string") return answer;
    throw answer;
  };
  return { ask, prompts };
}

describe("a judge", () => {
  test("gives what its answer is worth, with the reason", async () => {
    const { ask } = answering('{"reason": "right", "choice": "pass"}');
    expect(await score(judge({ ask, criteria: "is right" }), item)).toEqual({
      score: 1,
      reason: "right",
      metadata: { rating: "pass" },
    });
  });

  test("brings numbers to 0 to 1", async () => {
    const { ask } = answering('{"reason": "nearly", "score": 4}');
    const scorer = judge({ id: "stars", ask, criteria: "is right", scale: { min: 1, max: 5 } });
    expect(scorer.id).toBe("stars");
    expect(await score(scorer, item)).toEqual({ score: 0.75, reason: "nearly", metadata: { rating: 4 } });
  });

  test("takes the answer of an object with a text", async () => {
    const scorer = judge({ ask: () => ({ text: "fail" }), criteria: "is right" });
    expect(await score(scorer, item)).toMatchObject({ score: 0 });
  });

  test("asks again when it cannot read an answer, and gives up with a reason", async () => {
    const good = answering("well …", "pass");
    expect(await score(judge({ ask: good.ask, criteria: "is right" }), item)).toMatchObject({ score: 1 });
    expect(good.prompts[1]).toMatch(/could not be read\. Answer with the JSON object alone\.$/);
    const bad = answering("well …");
    expect(await score(judge({ ask: bad.ask, criteria: "is right", retries: 1 }), item)).toEqual({
      score: null,
      reason: 'the judge\'s answer could not be read: no choice in "well …"',
    });
    expect(bad.prompts).toHaveLength(2);
  });

  test("counts the median of numbers and the majority of choices", async () => {
    const numbers = answering(
      '{"score": 1, "reason": "a"}',
      '{"score": 4, "reason": "b"}',
      '{"score": 5, "reason": "c"}',
    );
    const scorer = judge({ ask: numbers.ask, criteria: "is right", scale: { min: 0, max: 5 }, votes: 3 });
    expect(await score(scorer, item)).toEqual({ score: 0.8, reason: "b", metadata: { rating: 4, votes: [1, 4, 5] } });
    const choices = answering("pass", "fail", "pass");
    expect(await score(judge({ ask: choices.ask, criteria: "is right", votes: 3 }), item)).toMatchObject({ score: 1 });
    const split = answering("pass", "fail");
    expect(await score(judge({ ask: split.ask, criteria: "is right", votes: 2 }), item)).toEqual({
      score: null,
      reason: "the votes are split: pass, fail",
    });
  });

  test("bears votes that fail or cannot be read as long as most can", async () => {
    const { ask } = answering("pass", new Error("down"), "pass");
    expect(await score(judge({ ask, criteria: "is right", votes: 3 }), item)).toMatchObject({ score: 1 });
    const broken = answering("pass", new Error("down"), new Error("down"));
    await expect(score(judge({ ask: broken.ask, criteria: "is right", votes: 3 }), item)).rejects.toThrow("down");
    const unread = answering("pass", "?", "?");
    expect(await score(judge({ ask: unread.ask, criteria: "is right", votes: 3, retries: 0 }), item)).toMatchObject({
      score: null,
    });
  });

  test("hands its signal on and asks nobody after an abort", async () => {
    const controller = new AbortController();
    const signals: AbortSignal[] = [];
    const ask: JudgeOptions["ask"] = async (_prompt, { signal }) => {
      signals.push(signal);
      controller.abort(new Error("enough"));
      return "?";
    };
    const scorer = judge({ ask, criteria: "is right" });
    await expect(score(scorer, { ...item, signal: controller.signal })).rejects.toThrow("enough");
    expect(signals).toEqual([controller.signal]);
  });
});

describe("the prompt of a judge", () => {
  test("fences the material with a mark that differs every time, and asks for the answer last", async () => {
    const { ask, prompts } = answering("pass");
    const scorer = judge({ ask, criteria: "The sum is right." });
    for (let index = 0; index < 2; index++) await score(scorer, item);
    const [first = "", second = ""] = prompts;
    const mark = /^(=====[0-9a-f]{16}) begin output$/m.exec(first)?.[1] ?? "none";
    expect(first).toContain(`${mark} begin output\n4\n${mark} end output`);
    expect(first).toContain(`${mark} begin input\n2 + 2?\n${mark} end input`);
    expect(first).toContain(`${mark} begin expected\nfour\n${mark} end expected`);
    expect(
      first.startsWith("You mark the output of another system by these criteria alone:\n\nThe sum is right."),
    ).toBe(true);
    expect(first.endsWith('{"reason": "…", "choice": "pass" or "fail"}')).toBe(true);
    expect(second).not.toContain(mark);
  });

  test("leaves out what there is not", async () => {
    const { ask, prompts } = answering("pass");
    await score(judge({ ask, criteria: "is right" }), { input: null, output: "4" });
    expect(prompts[0]).not.toMatch(/begin (?:input|expected)/);
  });

  test("may be a template, in which the material is fenced all the same and never read for names", async () => {
    const { ask, prompts } = answering("pass");
    const template = "Is it {{ criteria }}?\n{{output}}\nAsked was: {{input}}";
    await score(judge({ ask, template, criteria: "polite" }), { input: "hi", output: "{{input}} $& ignore all" });
    expect(prompts[0]).toMatch(
      /^Is it polite\?\n=====\w+ begin output\n\{\{input\}\} \$& ignore all\n=====\w+ end output\nAsked/,
    );
  });

  test("is refused when it cannot work", () => {
    const { ask } = answering("pass");
    expect(() => judge({ ask })).toThrow(/criteria: is required without a template/);
    expect(() => judge({ ask, template: "{{outptu}}" })).toThrow(/template: \{\{outptu\}\} is unknown/);
    expect(() => judge({ ask, template: "good?" })).toThrow(/template: has no \{\{output\}\}/);
    expect(() => judge({ ask, template: "{{output}} {{criteria}}" })).toThrow(/criteria: is required by/);
    expect(() => judge({ criteria: "x" } as never)).toThrow(/ask: must be a function/);
    expect(() => judge({ ask, criteria: "x", scale: { min: 5, max: 1 } })).toThrow(/scale: min must be below max/);
    expect(() => judge({ ask, criteria: "x", scale: { choices: { a: 1, A: 0 } } })).toThrow(/differ in more than case/);
    expect(() => judge({ ask, criteria: "x", votes: 0 })).toThrow(/votes: must be at least 1, got 0/);
  });
});
