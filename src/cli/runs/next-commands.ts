import { statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import type { JsonObject } from "../../base/json.ts";
import { shellWord, shownPath } from "../../base/shown-path.ts";
import { readPlan } from "../../experiments/output/plan-experiment.ts";
import { readJob } from "../../jobs/output/read-job.ts";
import { scoreOf, type Run, type Unit } from "../../store/run.ts";
import type { CliContext } from "../cli-context.ts";
import { isDirectoryGone } from "../commands/list.ts";
import { nextOfJob } from "../next-of-job.ts";

export interface NextCommands {
  readonly commands: readonly string[];
  /** Why the command that resumes the run is not the plain one. */
  readonly notes: readonly string[];
}

/** Returns what to type after reading a run: how to resume it, and the unit most worth reading. */
export async function nextCommands(
  run: Run,
  worst: Unit | null,
  { word, words }: { readonly word: string; readonly words: string },
  { host }: CliContext,
): Promise<NextCommands> {
  const isActive = run.status === "running" || run.status === "paused";
  const isGone = isDirectoryGone(run, host.cwd);
  const show = worst === null ? [] : [showCommand(run, worst, word, words, isGone)];
  if (isActive || !run.isResumable || isGone) return { commands: show, notes: [] };
  if (run.kind === "job") {
    const { command, notes } = await nextOfJob(await readJob(resolve(host.cwd, run.location)), host.cwd);
    const clean = run.status === "interrupted" ? ["rollout clean"] : [];
    return { commands: [...(command === null ? [] : [command]), ...clean, ...show], notes };
  }
  if (run.kind === "experiment") {
    const file = shellWord(readPlan(run).file ?? "FILE");
    const directory = resolve(host.cwd, run.location);
    const isInDirectory = statSync(directory, { throwIfNoEntry: false })?.isDirectory() === true;
    const place = isInDirectory ? ` --output-dir ${shellWord(shownPath(dirname(directory), host.cwd))}` : words;
    return { commands: [`rollout experiment ${file} --resume ${shellWord(run.id)}${place}`, ...show], notes: [] };
  }
  const { file } = (run.details["metadata"] ?? {}) as JsonObject;
  const resume =
    typeof file === "string" ? [`rollout eval ${shellWord(file)} --resume ${shellWord(run.id)}${words}`] : [];
  return { commands: [...resume, ...show], notes: [] };
}

function showCommand(run: Run, unit: Unit, word: string, words: string, isGone: boolean): string {
  if (isGone) return `rollout show ${shellWord(word)}${words} --trial ${shellWord(unit.key)}`;
  if (run.kind === "job") return `rollout show ${shellWord(join(run.location, unit.key))}`;
  const item = unit.labels[run.shape.itemLabel] ?? unit.key;
  return `rollout show ${shellWord(word)}${words} --item ${shellWord(item)}`;
}

/** Finds the unit most worth reading: one that failed, else the one with the lowest score below the passing one. */
export class WorstUnit {
  readonly #run: Run;
  #worst: { readonly unit: Unit; readonly value: number } | null = null;

  constructor(run: Run) {
    this.#run = run;
  }

  get unit(): Unit | null {
    return this.#worst?.unit ?? null;
  }

  add(unit: Unit): void {
    const { scoreName, passAt } = this.#run.shape;
    const value = unit.failure === null ? scoreOf(unit, scoreName) : Number.NEGATIVE_INFINITY;
    if (value === null || value >= passAt) return;
    if (this.#worst === null || value < this.#worst.value) this.#worst = { unit, value };
  }
}
