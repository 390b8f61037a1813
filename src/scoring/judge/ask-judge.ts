import { textOf } from "../text-of.ts";
import type { JudgeScale } from "./judge-scale.ts";
import { readJudgeAnswer, type JudgeAnswer } from "./read-judge-answer.ts";

/** Any function that answers a prompt with a text, or with an object that has one. */
export type Ask = (
  prompt: string,
  options: { readonly signal: AbortSignal },
) => Promise<string | { readonly text: string }> | string | { readonly text: string };

/** One vote of a judge. */
export interface AskRequest {
  readonly ask: Ask;
  readonly prompt: string;
  readonly scale: JudgeScale;
  /** How often an answer that cannot be read is asked for again. */
  readonly retries: number;
  readonly signal: AbortSignal;
}

/** Asks until an answer can be read, or often enough; what `ask` throws is thrown. */
export async function askJudge({ ask, prompt, scale, retries, signal }: AskRequest): Promise<JudgeAnswer> {
  let answer: JudgeAnswer = { isRead: false, why: "nobody was asked" };
  for (let attempt = 0; attempt <= retries && !answer.isRead; attempt++) {
    signal.throwIfAborted();
    const said = await ask(attempt === 0 ? prompt : againPrompt(prompt), { signal });
    answer = readJudgeAnswer(textOf(said) ?? "", scale);
  }
  return answer;
}

// What was said before is not repeated: it may be what led the judge astray.
function againPrompt(prompt: string): string {
  return `${prompt}\n\nAn answer before this one could not be read. Answer with the JSON object alone.`;
}
