import { z } from "zod";
import { makeScorer } from "../make-scorer.ts";
import type { Scorer } from "../scorer.ts";
import { comparingShape, readOptions } from "../read-options.ts";
import type { ComparingOptions } from "../scorer-options.ts";
import { askJudge, type Ask } from "./ask-judge.ts";
import { countVotes } from "./count-votes.ts";
import { judgePrompt, namesIn, placeholders } from "./judge-prompt.ts";
import { judgeScaleSchema } from "./judge-scale-schema.ts";
import type { JudgeScale } from "./judge-scale.ts";
import type { JudgeAnswer } from "./read-judge-answer.ts";

export interface JudgeOptions extends ComparingOptions {
  /** Answers a prompt with a text: a call of a model, by whatever library. */
  readonly ask: Ask;
  /** What to mark by, in words. */
  readonly criteria?: string | undefined;
  /** The prompt, when ours is not the one: a text with `{{output}}`, and `{{input}}`, `{{expected}}`, `{{criteria}}`. */
  readonly template?: string | undefined;
  /** What the judge may answer; `pass` (1) or `fail` (0) unless told. Numbers are brought to 0 to 1. */
  readonly scale?: JudgeScale | undefined;
  /** How often it is asked about an item: the median of numbers or the majority of choices counts. 1 unless told. */
  readonly votes?: number | undefined;
  /** How often an answer that cannot be read is asked for again; 2 unless told. */
  readonly retries?: number | undefined;
}

const schema = z
  .strictObject({
    ...comparingShape,
    ask: z.custom<Ask>((value) => typeof value === "function", "must be a function"),
    criteria: z.string().trim().min(1).optional(),
    template: z.string().optional(),
    scale: judgeScaleSchema.default({ choices: { pass: 1, fail: 0 } }),
    votes: z.int().min(1).max(99).default(1),
    retries: z.int().min(0).max(10).default(2),
  })
  .superRefine(({ criteria, template }, context) => {
    const problem = problemOf(criteria, template);
    if (problem !== null) context.addIssue({ code: "custom", ...problem });
  });

const lost: JudgeAnswer = { isRead: false, why: "it was not given" };

/** Marks by asking a model, or anybody else who answers in text; an answer that cannot be read gets no mark. */
export function judge(options: JudgeOptions): Scorer {
  const { ask, criteria, template, scale, votes, retries, expected, ...common } = readOptions("judge", schema, options);
  return makeScorer(common, criteria ?? "what a judge says", "judge", async (output, run) => {
    const { input, signal } = run;
    const material = { input, output, expected: expected ? expected(run) : run.groundTruth };
    const one = (): Promise<JudgeAnswer> => {
      return askJudge({ ask, prompt: judgePrompt({ criteria, template, scale }, material), scale, retries, signal });
    };
    const settled = await Promise.allSettled(Array.from({ length: votes }, one));
    signal.throwIfAborted();
    const read = settled.filter((vote) => vote.status === "fulfilled" && vote.value.isRead);
    const failure = settled.find((vote) => vote.status === "rejected");
    // Votes that can be read are enough when they are the most.
    if (failure && read.length * 2 <= votes) throw failure.reason;
    const answers = settled.map((vote): JudgeAnswer => (vote.status === "fulfilled" ? vote.value : lost));
    return countVotes(answers, scale);
  });
}

function problemOf(
  criteria: string | undefined,
  template: string | undefined,
): { path: string[]; message: string } | null {
  if (template === undefined)
    return criteria === undefined ? { path: ["criteria"], message: "is required without a template" } : null;
  const names = namesIn(template);
  const unknown = names.find((name) => !placeholders.some((known) => known === name));
  const known = placeholders.map((name) => `{{${name}}}`).join(", ");
  if (unknown !== undefined) return { path: ["template"], message: `{{${unknown}}} is unknown; there are ${known}` };
  if (!names.includes("output")) return { path: ["template"], message: "has no {{output}}" };
  if (names.includes("criteria") && criteria === undefined)
    return { path: ["criteria"], message: "is required by {{criteria}} in the template" };
  return null;
}
