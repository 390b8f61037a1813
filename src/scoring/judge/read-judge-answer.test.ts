import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { readJudgeAnswer } from "./read-judge-answer.ts";

const stars = { min: 1, max: 5 };
const verdicts = { choices: { pass: 1, "partly right": 0.5, fail: 0 } };

function ratingOf(answer: string, scale: typeof stars | typeof verdicts): number | string | null {
  const read = readJudgeAnswer(answer, scale);
  return read.isRead ? read.rating : null;
}

describe("a judge's answer", () => {
  test("is read from JSON, also in a fence, behind other words and with other names", () => {
    const json = '{"reason": "It is {nearly} right.", "score": 4}';
    const answers = [json, `\`\`\`json\n${json}\n\`\`\``, `Let me think: {a}.\n${json}`, `${json}\n\nHope this helps!`];
    for (const answer of answers) {
      expect(readJudgeAnswer(answer, stars)).toEqual({ isRead: true, rating: 4, reason: "It is {nearly} right." });
    }
    expect(ratingOf('{"Rating": "4/5", "explanation": "fine"}', stars)).toBe(4);
    expect(ratingOf('{"verdict": "PASS"}', verdicts)).toBe("pass");
    expect(ratingOf('{"score": 1, "details": {"score": 5}}', stars)).toBe(1);
  });

  test("is read from a value on a line of its own", () => {
    for (const answer of ["4", " **4** ", "4/5", "4 out of 5.", "It is good.\n\n4"])
      expect(ratingOf(answer, stars)).toBe(4);
    for (const answer of ["pass", "**PASS**", "- pass", "Fine work.\n\nPass."])
      expect(ratingOf(answer, verdicts)).toBe("pass");
    expect(ratingOf("-3", { min: -5, max: 5 })).toBe(-3);
  });

  test("is read from behind the word for it", () => {
    for (const answer of ["Score: 4, for it is good", "**Rating (1-5):** 4/5 stars", "I think the grade is 4."]) {
      expect(ratingOf(answer, stars), answer).toBe(4);
    }
    expect(ratingOf("My verdict is partly right, for it lacks a name.", verdicts)).toBe("partly right");
    expect(ratingOf('{"reason": "says "yes" twice", "score": 3}', stars)).toBe(3);
  });

  test("is not read when it is off the scale, ambiguous or missing", () => {
    const why = (answer: string, scale: typeof stars | typeof verdicts) => {
      const read = readJudgeAnswer(answer, scale);
      return read.isRead ? null : read.why;
    };
    expect(why('{"score": 6}', stars)).toBe("6 is not on the scale");
    expect(why('{"score": 4.5e9}', stars)).toBe("4500000000 is not on the scale");
    expect(why('{"score": null}', stars)).toBe("null is not on the scale");
    expect(why("Score: 8/10, well done", stars)).toBe('"8/10" is not on the scale');
    expect(why("It asked for score: 5, but the score is 1 at most", stars)).toBe("the answer names several");
    expect(why("This does not pass", verdicts)).toBe('no choice in "This does not pass"');
    expect(why("verdict: passable", verdicts)).toBe('no choice in "verdict: passable"');
    expect(why("   ", stars)).toBe("the answer is empty");
  });

  test("takes the last object, so that one that the judge quotes does not count", () => {
    expect(ratingOf('The output says {"score": 5}. My answer: {"reason": "it begs", "score": 1}', stars)).toBe(1);
  });

  test("never throws, and every rating is on the scale", () => {
    const pieces = fc.constantFrom(
      "{",
      "}",
      '"score"',
      ":",
      "7",
      "3",
      "score",
      " ",
      "\n",
      "/5",
      "is",
      '"reason": "x",',
      "*",
      "-",
    );
    fc.assert(
      fc.property(fc.array(pieces, { maxLength: 30 }), (parts) => {
        const rating = ratingOf(parts.join(""), stars);
        if (rating !== null) expect([3]).toContain(rating);
      }),
      { numRuns: 1000 },
    );
  });

  test("is found again for every number of the scale that is written as JSON", () => {
    fc.assert(
      fc.property(fc.double({ min: 0, max: 5, noNaN: true }), fc.string(), (score, reason) => {
        expect(readJudgeAnswer(JSON.stringify({ reason, score }), { min: 0, max: 5 })).toEqual({
          isRead: true,
          rating: score,
          reason,
        });
      }),
    );
  });
});
