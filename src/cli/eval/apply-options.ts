import { RolloutError } from "../../base/rollout-error.ts";
import { describeUnknown } from "../../base/suggest.ts";
import type { RunConfig } from "../../datasets/run-config.ts";

/** What a person changes about a run on the command line. */
export interface EvalOptions {
  readonly dataset?: string;
  readonly limit?: number;
  readonly sample?: number;
  readonly seed?: number;
  readonly scorer?: readonly string[];
  readonly concurrency?: number;
  readonly repeats?: number;
}

/** A run's config with what was typed in place of what the file says. */
export function applyOptions(config: RunConfig, options: EvalOptions): RunConfig {
  const { limit, sample, ...rest } = config;
  if (
    options.seed !== undefined &&
    (options.sample ?? (options.limit === undefined ? sample : undefined)) === undefined
  )
    throw new RolloutError("usage_invalid", "--seed is about items chosen by chance; say how many with --sample");
  const narrowing =
    options.limit === undefined && options.sample === undefined
      ? { limit, sample }
      : { limit: options.limit, sample: options.sample };
  return {
    ...rest,
    ...narrowing,
    ...(options.dataset === undefined ? {} : readDataset(options.dataset)),
    ...(options.seed === undefined ? {} : { seed: options.seed }),
    ...(options.concurrency === undefined ? {} : { maxConcurrency: options.concurrency }),
    ...(options.repeats === undefined ? {} : { repeats: options.repeats }),
    ...(options.scorer === undefined ? {} : { scorers: pickScorers(config.scorers ?? [], options.scorer) }),
  };
}

/** `name` or `name@version`. */
function readDataset(text: string): Pick<RunConfig, "datasetId" | "version" | "data"> {
  const [, name = text, version] = /^(.+)@(\d+)$/.exec(text) ?? [];
  return { datasetId: name, version: version === undefined ? undefined : Number(version), data: undefined };
}

type Scorers = NonNullable<RunConfig["scorers"]>;

/** Those of the file's scorers that were named, in the order in which they were. */
function pickScorers(scorers: Scorers, ids: readonly string[]): Scorers {
  return ids.map((id) => {
    const known = scorers.find((scorer) => idOf(scorer) === id);
    if (known !== undefined) return known;
    throw new RolloutError("usage_invalid", `--scorer ${id}: ${describeUnknown("scorer", id, scorers.map(idOf))}`);
  });
}

function idOf(scorer: Scorers[number]): string {
  if (typeof scorer === "string") return scorer;
  return typeof scorer === "function" ? scorer.name : scorer.id;
}
