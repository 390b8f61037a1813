import type { Score } from "../../store/run.ts";
import { describeProblems } from "../executor/protocol-problems.ts";
import type { ExperimentSummary, RunAnswer, Scoring } from "../run/experiment-tally.ts";

/** Returns an aggregate's answer as a score of the run. One from before a later scoring is marked as such. */
export function toRunScore(answer: RunAnswer, scorings: readonly Scoring[]): Score {
  const { aggregate, score, label, explanation, metadata, error, asOf } = answer;
  const isOld = scorings.some(({ at }) => at > asOf);
  const reasons = [explanation, isOld ? "from before it was scored again" : null];
  const reason = reasons.filter((text) => text != null && text !== "").join("; ");
  return {
    name: aggregate,
    value: score,
    ...(label == null ? {} : { label }),
    ...(reason === "" ? {} : { reason }),
    ...(error == null ? {} : { error }),
    ...(metadata == null ? {} : { metadata }),
  };
}

/** Returns remarks for people: later scorings, and protocol problems. */
export function describeNotes({
  scorings,
  protocolProblems,
}: Pick<ExperimentSummary, "scorings" | "protocolProblems">): string[] {
  const problems = describeProblems(protocolProblems);
  const scored = scorings.map(
    ({ at, file, evaluators }) =>
      `scored again ${new Date(at).toISOString().slice(0, 16).replace("T", " ")} UTC by ${file}: ${evaluators.join(", ")}`,
  );
  return problems === null ? scored : [...scored, problems];
}
