import { describe, expect, test } from "vitest";
import { systemClock } from "../../base/clock.ts";
import { judge } from "../../scoring/judge/judge.ts";
import type { Scorer } from "../../scoring/scorer.ts";
import { judgeAgreement, type JudgeAgreement, type LabelledItem } from "./judge-agreement.ts";

function agreementOf(
  judge: Scorer,
  items: readonly LabelledItem[],
  signal = new AbortController().signal,
): Promise<JudgeAgreement> {
  return judgeAgreement({ judge, items, maxConcurrency: 3, signal, clock: systemClock });
}

/** Says pass of outputs that begin with a g. */
const strict = judge({ ask: (prompt) => (/begin output\ng/.test(prompt) ? "pass" : "fail"), criteria: "is good" });

const items: LabelledItem[] = ["good", "great", "bad", "gone", "fine", "awful"].map((output) => ({
  output,
  label: ["good", "great", "fine"].includes(output) ? "pass" : "fail",
}));

describe("the agreement of a judge with people", () => {
  test("is its accuracy, kappa and intervals, with the items on which they differ", async () => {
    const agreement = await agreementOf(strict, items);
    expect(agreement).toMatchObject({ items: 6, unmarked: 0, weightedKappa: null, spearman: null });
    expect(agreement.accuracy).toMatchObject({ value: 4 / 6, interval: { method: "wilson" } });
    expect(agreement.kappa?.value).toBeCloseTo(1 / 3, 12);
    expect(agreement.kappa?.interval?.method).toBe("bootstrap");
    expect(agreement.disagreements).toEqual([
      { index: 3, label: "fail", mark: "pass", reason: "pass" },
      { index: 4, label: "pass", mark: "fail", reason: "fail" },
    ]);
  });

  test("of numbers has weighted kappa and the correlation of order", async () => {
    const length: Scorer = { id: "length", run: ({ output }) => ({ score: String(output).length / 10 }) };
    const rated = ["a", "aa", "aaa", "aaaa", "aaaaa"].map((output, index) => ({
      output,
      label: [0.1, 0.2, 0.3, 0.4, 0.6][index] ?? 0,
    }));
    const agreement = await agreementOf(length, rated);
    expect(agreement.accuracy?.value).toBe(0.8);
    expect(agreement.spearman?.value).toBe(1);
    expect(agreement.weightedKappa?.value).toBeGreaterThan(0.9);
    expect(agreement.disagreements).toMatchObject([{ index: 4, label: 0.6, mark: 0.5 }]);
  });

  test("leaves out items without a mark, and says why there is none", async () => {
    const moody: Scorer = {
      id: "moody",
      run: ({ output }) => {
        if (output === "bad") throw new Error("no mood");
        return { score: output === "good" ? 1 : null, reason: "cannot say" };
      },
    };
    const labelled = ["good", "great", "bad"].map((output) => ({ output, label: 1 }));
    const agreement = await agreementOf(moody, labelled);
    expect(agreement).toMatchObject({ items: 3, unmarked: 2, accuracy: { value: 1 }, kappa: null });
    expect(agreement.disagreements).toEqual([
      { index: 1, label: 1, mark: null, reason: "cannot say" },
      { index: 2, label: 1, mark: null, reason: "no mood" },
    ]);
  });

  test("is not asked for without items, with mixed labels or after an abort", async () => {
    await expect(agreementOf(strict, [])).rejects.toThrow("there are no labelled items");
    await expect(
      agreementOf(strict, [
        { output: "", label: 1 },
        { output: "", label: "pass" },
      ]),
    ).rejects.toThrow(/all finite numbers/);
    await expect(agreementOf(strict, items, AbortSignal.abort(new Error("enough")))).rejects.toThrow("enough");
  });
});
