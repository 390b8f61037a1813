import type { Anything } from "../../base/anything.ts";
import { RolloutError } from "../../base/rollout-error.ts";
import { describeUnknown } from "../../base/suggest.ts";
import type { DatasetScorer, ScorerRun, Verdict } from "../../scoring/scorer.ts";
import { readField, readText } from "../targets/read-field.ts";
import { findRegistered, registeredIds, type Registry } from "../targets/registry.ts";

/** What a function may say of an item; true is 1 and false is 0. */
export type ScorerAnswer =
  | number
  | boolean
  | null
  | (Omit<Verdict, "score"> & { readonly score: number | boolean | null })
  | { readonly notScorable: { readonly reason?: string | undefined } };

/** An item as a function that marks it sees it: whoever writes it knows what the items and the target give. */
export interface FunctionScorerRun extends Omit<ScorerRun, "input" | "output" | "groundTruth" | "metadata"> {
  readonly input: Anything;
  readonly output: Anything;
  readonly groundTruth: Anything;
  readonly metadata: Readonly<Record<string, Anything>>;
}

/** A function that marks an item. */
export type ScorerFunction = (run: FunctionScorerRun) => ScorerAnswer | Promise<ScorerAnswer>;

/** A scorer that was found. */
export interface ResolvedScorer {
  readonly id: string;
  readonly name: string;
  readonly run: (run: ScorerRun) => unknown;
}

/** The scorers of a run, apart by what they mark. */
export interface ResolvedScorers {
  readonly perItem: readonly ResolvedScorer[];
  readonly perDataset: readonly DatasetScorer[];
}

/** Finds every scorer, instances and registered ids alike; throws when one is unknown, is none, or has another one's id. */
export async function resolveScorers(
  scorers: readonly unknown[],
  registry: Registry | undefined,
): Promise<ResolvedScorers> {
  const perItem: ResolvedScorer[] = [];
  const perDataset: DatasetScorer[] = [];
  const ids = new Set<string>();
  for (const [place, wish] of scorers.entries()) {
    const scorer = typeof wish === "string" ? await findScorer(wish, registry) : wish;
    const id = idOf(scorer, place, typeof wish === "string" ? wish : null);
    if (ids.has(id)) throw invalid(`two scorers have the id "${id}"`, "give each an id of its own");
    ids.add(id);
    if (typeof readField(scorer, "runDataset") === "function") perDataset.push(scorer as DatasetScorer);
    else perItem.push(describe(scorer, id));
  }
  return { perItem, perDataset };
}

async function findScorer(id: string, registry: Registry | undefined): Promise<unknown> {
  const found = await findRegistered(registry, "scorer", id);
  if (found !== null) return found.value;
  const known = registeredIds(registry, "scorer");
  throw new RolloutError("not_found", `${JSON.stringify(id)}: ${describeUnknown("scorer", id, known)}`, {
    hint: registry === undefined ? "give a `registry` that knows it" : undefined,
  });
}

function idOf(scorer: unknown, place: number, registeredAs: string | null): string {
  const own = typeof scorer === "function" ? scorer.name : (readText(scorer, "id") ?? readText(scorer, "name"));
  const id = own !== null && own !== "" ? own : registeredAs;
  if (id === null)
    throw invalid(`scorer ${place + 1} has no id`, "name the function, or give an object with `id` and `run`");
  return id;
}

function describe(scorer: unknown, id: string): ResolvedScorer {
  const name = readText(scorer, "name") ?? id;
  if (typeof scorer === "function") return { id, name, run: scorer as ResolvedScorer["run"] };
  const run = readField(scorer, "run");
  if (typeof run !== "function")
    throw invalid(`scorer "${id}" has no run`, "a scorer is a function, or an object with `id` and `run`");
  return { id, name, run: (item) => (run as ResolvedScorer["run"]).call(scorer, item) };
}

function invalid(message: string, hint: string): RolloutError {
  return new RolloutError("config_invalid", message, { hint });
}
