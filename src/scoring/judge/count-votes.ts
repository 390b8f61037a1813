import { noMark } from "../make-scorer.ts";
import type { Verdict } from "../scorer.ts";
import { scoreOf, type JudgeScale, type Rating } from "./judge-scale.ts";
import type { JudgeAnswer } from "./read-judge-answer.ts";

type Vote = JudgeAnswer & { readonly isRead: true };

/** One verdict of several votes: the median of numbers, the majority of choices; none unless most can be read. */
export function countVotes(answers: readonly JudgeAnswer[], scale: JudgeScale): Verdict {
  const votes = answers.filter((answer) => answer.isRead);
  const unread = answers.filter((answer) => !answer.isRead);
  if (votes.length * 2 <= answers.length)
    return noMark(`the judge's answer could not be read: ${unread[0]?.why ?? ""}`);
  const rating = "choices" in scale ? majority(votes) : median(votes.map((vote) => Number(vote.rating)));
  if (rating === null) return noMark(`the votes are split: ${votes.map((vote) => vote.rating).join(", ")}`);
  const speaker = votes.find((vote) => vote.rating === rating) ?? votes[0];
  const ratings = answers.length === 1 ? {} : { votes: votes.map((vote) => vote.rating) };
  return { score: scoreOf(rating, scale), reason: speaker?.reason ?? null, metadata: { rating, ...ratings } };
}

function majority(votes: readonly Vote[]): Rating | null {
  const counts = new Map<Rating, number>();
  for (const { rating } of votes) counts.set(rating, (counts.get(rating) ?? 0) + 1);
  const [first, second] = [...counts].sort(([, a], [, b]) => b - a);
  return first === undefined || first[1] === second?.[1] ? null : first[0];
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length / 2;
  return ((sorted[Math.ceil(middle) - 1] ?? Number.NaN) + (sorted[Math.floor(middle)] ?? Number.NaN)) / 2;
}
