import { describe, expect } from "vitest";
import type { ScorerRun } from "../../src/scoring/scorer.ts";
import type { Peers } from "./find-peers.ts";
import { peerTest } from "./peer-test.ts";

interface StepArguments {
  readonly run: { readonly output: unknown };
  readonly results: { readonly preprocessStepResult: { readonly length: number } };
  readonly score: number;
}

interface MastraScorer {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  preprocess(step: (args: StepArguments) => unknown): MastraScorer;
  generateScore(step: (args: StepArguments) => unknown): MastraScorer;
  generateReason(step: (args: StepArguments) => string): MastraScorer;
  run(run: object): Promise<Readonly<Record<string, unknown>>>;
}

interface Evals {
  readonly createScorer: (config: object) => MastraScorer;
  readonly notScorable: (reason: string) => unknown;
}

async function evalsOf(peers: Peers): Promise<Evals> {
  return (await peers.load("@mastra/core/evals")) as Evals;
}

async function scorerOf(peers: Peers, step: (args: StepArguments) => unknown): Promise<MastraScorer> {
  return (await evalsOf(peers)).createScorer({ id: "scorer", description: "marks" }).generateScore(step);
}

const run: ScorerRun = {
  input: "a question",
  output: "answer",
  groundTruth: "the truth",
  itemId: "item-1",
  metadata: {},
  durationMs: 3,
  usage: null,
  error: null,
  signal: new AbortController().signal,
};

describe("a scorer of Mastra", () => {
  peerTest("takes what ours take and gives a score and a reason beside what it was given", async (peers) => {
    const scorer = (await evalsOf(peers))
      .createScorer({ id: "length", description: "how long it is" })
      .preprocess(({ run }) => ({ length: String(run.output).length }))
      .generateScore(({ results }) => results.preprocessStepResult.length / 10)
      .generateReason(({ score }) => `it is ${score}`);
    expect({ id: scorer.id, description: scorer.description }).toEqual({ id: "length", description: "how long it is" });
    expect(await scorer.run(run)).toMatchObject({
      input: "a question",
      groundTruth: "the truth",
      itemId: "item-1",
      score: 0.6,
      reason: "it is 0.6",
      preprocessStepResult: { length: 6 },
    });
  });

  peerTest("lets through a score that is no finite number", async (peers) => {
    expect((await (await scorerOf(peers, () => Number.NaN)).run(run))["score"]).toBeNaN();
    expect((await (await scorerOf(peers, () => "high")).run(run))["score"]).toBe("high");
  });

  peerTest("gives no score and says why when it is not scorable", async (peers) => {
    const { notScorable } = await evalsOf(peers);
    const result = await (await scorerOf(peers, () => notScorable("no tools"))).run(run);
    expect(result["score"]).toBeUndefined();
    expect(result["notScorable"]).toEqual({ step: "generateScore", reason: "no tools" });
  });

  peerTest("throws with the failed step when a step throws", async (peers) => {
    const scorer = await scorerOf(peers, () => {
      throw new Error("bad");
    });
    await expect(scorer.run(run)).rejects.toMatchObject({
      message: "Scorer Run Failed: bad",
      failedStep: "generateScore",
      completedSteps: [],
    });
  });

  peerTest("needs its own object to run", async (peers) => {
    const scorer = await scorerOf(peers, () => 1);
    await expect(scorer.run.call(undefined as never, run)).rejects.toThrow(TypeError);
  });
});
