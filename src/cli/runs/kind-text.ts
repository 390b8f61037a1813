import type { RunKind } from "../../store/run.ts";

const texts: Readonly<Record<RunKind, string>> = {
  job: "a job",
  dataset: "a dataset run",
  experiment: "an experiment",
};

/** A kind of run in words, with its article. */
export function kindText(kind: RunKind): string {
  return texts[kind];
}
