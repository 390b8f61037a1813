import type { MixedInputFile } from "./job-result-schema.ts";
import { keyOf, type PlannedTrial } from "./planned-trial.ts";
import type { TrialInputsFile } from "./trial-result-schema.ts";

/** A finished trial and what it ran with. */
export interface RanWith {
  readonly trial: PlannedTrial;
  readonly inputs: TrialInputsFile;
}

const kinds = ["environment", "settings", "agent", "task"] as const;

/** Everything that finished trials of one job had in more than one version; nothing in most jobs. */
export function findMixedInputs(finished: Iterable<RanWith>): MixedInputFile[] {
  const trials = [...finished];
  return kinds.flatMap((kind) => {
    const groups = Map.groupBy(trials, ({ trial }) => nameOf(kind, trial));
    return [...groups].flatMap(([name, members]) => {
      const versions = Map.groupBy(members, ({ inputs }) => inputs[kind]);
      if (versions.size < 2) return [];
      return [{ kind, name, versions: [...versions].map(([hash, ran]) => describeVersion(hash, ran)) }];
    });
  });
}

function describeVersion(hash: string | null, ran: readonly RanWith[]): MixedInputFile["versions"][number] {
  return { hash, trials: ran.length, keys: ran.map(({ trial }) => keyOf(trial)) };
}

function nameOf(kind: (typeof kinds)[number], trial: PlannedTrial): string | null {
  if (kind === "agent") return trial.agentName;
  return kind === "task" ? `${trial.datasetName}/${trial.taskName}` : null;
}
