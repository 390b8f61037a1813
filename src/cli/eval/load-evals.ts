import { stat } from "node:fs/promises";
import { basename } from "node:path";
import { messageOf, RolloutError } from "../../base/rollout-error.ts";
import type { RunConfig } from "../../datasets/run-config.ts";
import type { ModuleLoader } from "../../base/module-loader.ts";

/** A run that a file exports, under the name it goes by. */
export interface NamedEval {
  readonly name: string;
  readonly config: RunConfig;
}

/** The runs that a file exports: objects, lists of them, and functions that give either; `hasItems` when their items come from elsewhere. */
export async function loadEvals(file: string, loader: ModuleLoader, hasItems: boolean): Promise<NamedEval[]> {
  const isFile = await stat(file).then(
    (stats) => stats.isFile(),
    () => false,
  );
  if (!isFile) throw new RolloutError("not_found", `${file} is no file`);
  const evals: NamedEval[] = [];
  const near: string[] = [];
  for (const [exported, value] of Object.entries(await load(file, loader))) {
    const name = exported === "default" ? basename(file).replace(/(\.eval)?\.[cm]?[jt]s$/, "") : exported;
    const made = await make(value);
    const found = readExport(made, hasItems);
    if (found.length === 0 && typeof made === "object" && made !== null)
      near.push(describeMissing(exported, made, hasItems));
    for (const [place, config] of found.entries())
      evals.push({ name: config.name ?? (found.length === 1 ? name : `${name}-${place + 1}`), config });
  }
  if (evals.length === 0)
    throw new RolloutError("config_invalid", `${file} exports nothing to run`, {
      hint: near[0] ?? "export default { data, target, scorers }; see `rollout eval --help`",
    });
  return evals;
}

async function load(file: string, loader: ModuleLoader): Promise<Readonly<Record<string, unknown>>> {
  try {
    return await loader.load(file);
  } catch (thrown) {
    const details = thrown instanceof Error && thrown.stack !== undefined ? thrown.stack.split("\n").slice(0, 6) : [];
    throw new RolloutError("config_invalid", `${file} cannot be loaded: ${messageOf(thrown)}`, {
      cause: thrown,
      details,
    });
  }
}

// A function with arguments is a target or a scorer that the file shares, not a way to make runs.
async function make(value: unknown): Promise<unknown> {
  return typeof value === "function" && value.length === 0 && isMaker(value) ? ((await value()) as unknown) : value;
}

function readExport(made: unknown, hasItems: boolean): readonly RunConfig[] {
  const list: readonly unknown[] = Array.isArray(made) ? made : [made];
  return list.every((value) => isConfig(value, hasItems)) ? list : [];
}

function describeMissing(exported: string, made: object, hasItems: boolean): string {
  const keys = Object.keys(Array.isArray(made) ? ((made[0] as object | undefined) ?? {}) : made);
  const missing = [
    ...(keys.includes("target") || keys.includes("targetId") ? [] : ["target"]),
    ...(hasItems || keys.includes("data") || keys.includes("datasetId") ? [] : ["data (or datasetId, or --dataset)"]),
  ];
  return `its export "${exported}" has ${keys.join(", ") || "nothing"}, and no ${missing.join(" and no ")}`;
}

/** Functions that make runs say so in their name. */
function isMaker({ name }: { readonly name: string }): boolean {
  return name === "default" || /evals?$/i.test(name);
}

function isConfig(value: unknown, hasItems: boolean): value is RunConfig {
  if (typeof value !== "object" || value === null || !("target" in value || "targetId" in value)) return false;
  return hasItems || "data" in value || "datasetId" in value;
}
