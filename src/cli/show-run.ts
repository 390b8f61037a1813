import { inspect } from "node:util";
import type { Json, JsonObject } from "../base/json.ts";
import { RolloutError } from "../base/rollout-error.ts";
import { shellWord } from "../base/shown-path.ts";
import { plainJson } from "../base/plain-json.ts";
import { plainText } from "../base/terminal-text.ts";
import { describeStoredHead, describeStoredTail } from "../datasets/describe-run.ts";
import { readStoredItems } from "../datasets/results/read-earlier-work.ts";
import type { ItemWithScores } from "../datasets/summary.ts";
import { toUnit, type UnitNames } from "../datasets/to-unit.ts";
import { markText } from "../report/number-text.ts";
import { RunTally } from "../report/run-tally.ts";
import type { RunHead, RunShape, RunTail, Unit } from "../store/run.ts";
import type { RunRecord } from "../store/run-store.ts";
import type { Store } from "../store/store.ts";
import type { CliContext } from "./cli-context.ts";
import { exitCodes } from "./exit-codes.ts";
import { itemJson, recordJson } from "./eval/run-json.ts";
import { printSummary } from "./run-reporter.ts";
import { storeWords } from "./with-store.ts";

export interface ShowRunOptions {
  readonly json?: boolean;
  readonly item?: string;
  readonly store?: string;
  readonly outputDir?: string;
}

const mostWorst = 5;

/** A run as it is shown, wherever it is kept. */
export interface ShownRun {
  readonly run: RunRecord;
  readonly head: RunHead;
  readonly tail: (finished: number, next: readonly string[]) => RunTail;
  readonly units: AsyncIterable<{ readonly unit: Unit; readonly item: ItemWithScores }>;
  /** What a command typed next calls this run. */
  readonly word: string;
  /** What to say of one that is not finished. */
  readonly unfinished: string;
  /** What was said of it as a whole, for programs; absent where that is no part of the report. */
  readonly summary?: Json | undefined;
}

/** Shows a run of a dataset out of a store. */
export async function showRun(
  store: Store,
  run: RunRecord,
  options: ShowRunOptions,
  context: CliContext,
): Promise<number> {
  const names = namesOf(run);
  const shown: ShownRun = {
    run,
    head: describeStoredHead(run, names, store.location),
    tail: (finished, next) => describeStoredTail(run, finished, context.clock.now(), next),
    units: readUnits(store, run, names),
    word: `${run.id}${storeWords(options, store.location)}`,
    unfinished: `The run is not finished; \`rollout eval\` with --resume ${run.id} goes on with it.`,
  };
  return await printRun(shown, options, context);
}

async function* readUnits(store: Store, { id }: RunRecord, names: UnitNames): ShownRun["units"] {
  for await (const item of readStoredItems(store, id)) yield { item, unit: toUnit(item, names) };
}

/** Prints a run's summary and its worst items, or all there is to know of one item. */
export async function printRun(shown: ShownRun, options: ShowRunOptions, context: CliContext): Promise<number> {
  const { terminal } = context;
  const { run, head } = shown;
  const tally = new RunTally(head.shape);
  const worst = new WorstItems(head.shape);
  const found: ItemWithScores[] = [];
  let seen = 0;
  for await (const { item, unit } of shown.units) {
    tally.add(unit);
    worst.add(item);
    seen++;
    if (options.item === undefined ? options.json === true : isCalled(item, options.item)) found.push(item);
  }
  if (options.item !== undefined && found.length === 0)
    throw new RolloutError("not_found", `run "${run.id}" has no result for item "${options.item}"`);
  if (options.json === true) {
    const summary = shown.summary === undefined ? {} : { summary: shown.summary };
    const shownRun = { schema_version: 1, run: recordJson(run), ...summary, results: found.map(itemJson) };
    terminal.out(`${plainJson(shownRun, 2)}\n`);
  } else if (options.item !== undefined) for (const item of found) terminal.out(describeItem(item));
  else {
    printSummary(terminal, head, tally, shown.tail(seen, worst.commands(shown.word)));
    if (!run.isFinished && !run.isHeld) terminal.out(`${shown.unfinished}\n`);
  }
  return exitCodes.done;
}

/** By the id of its item, or by that and its repeat: `free#2`. */
function isCalled({ itemId, repeat }: ItemWithScores, word: string): boolean {
  return word === itemId || word === `${itemId}#${repeat}`;
}

function namesOf({ identity, name }: RunRecord): UnitNames {
  const { target, repeats } = identity;
  return {
    target: typeof target === "string" ? target : name,
    dataset: typeof identity["dataset"] === "string" ? identity["dataset"] : "data",
    repeats: typeof repeats === "number" ? repeats : 1,
  };
}

/** The items most worth a look: those that failed, then those with the lowest marks. */
class WorstItems {
  readonly #shape: RunShape;
  #items: { readonly id: string; readonly mark: number }[] = [];

  constructor(shape: RunShape) {
    this.#shape = shape;
  }

  add({ itemId, error, scores }: ItemWithScores): void {
    const { markName, passAt } = this.#shape;
    const score = scores.find(({ scorerId }) => scorerId === markName)?.score ?? null;
    const mark = error === null ? score : Number.NEGATIVE_INFINITY;
    if (mark === null || mark >= passAt) return;
    this.#items = [...this.#items, { id: itemId, mark }].sort((a, b) => a.mark - b.mark).slice(0, mostWorst);
  }

  commands(word: string): string[] {
    const [first] = this.#items;
    return first === undefined ? [] : [`rollout show ${word} --item ${shellWord(first.id)}`];
  }
}

function describeItem(item: ItemWithScores): string {
  const facts: [string, string][] = [
    ["item", item.itemId + (item.repeat > 1 ? ` #${item.repeat}` : "")],
    ["input", valueText(item.input)],
    ["output", valueText(item.output)],
    ...(item.expectedOutput === undefined ? [] : [["expected", valueText(item.expectedOutput)] as [string, string]]),
    ["time", `${item.durationMs.toFixed(0)} ms${item.retryCount > 0 ? `, ${item.retryCount} retries` : ""}`],
    ...(item.error === null ? [] : [["error", item.error] as [string, string]]),
    ...factsOf("metadata", item.metadata),
    ...(item.usage === null ? [] : [["usage", usageText(item.usage)] as [string, string]]),
    ...item.scores.flatMap(({ scorerId, score, label, reason, error, metadata }): [string, string][] => {
      const words = [score === null ? "no score" : markText(score), label ?? "", error ?? reason ?? ""];
      return [[scorerId, words.filter((text) => text !== "").join("; ")], ...factsOf(scorerId, metadata ?? {})];
    }),
  ];
  const width = Math.max(...facts.map(([name]) => name.length)) + 2;
  return `${facts.map(([name, value]) => plainText(`${name.padEnd(width)}${value}`)).join("\n")}\n`;
}

// What SDKs of executors add; the time is told already.
const timeMembers = new Set(["started_at", "completed_at", "execution_time_ms"]);

/** A line for each member. */
function factsOf(name: string, members: JsonObject): [string, string][] {
  const told = Object.entries(members).filter(([member]) => !timeMembers.has(member));
  return told.map(([member, value]) => [`${name}.${member}`, valueText(value)]);
}

function usageText({ inputTokens, outputTokens, costUsd }: NonNullable<ItemWithScores["usage"]>): string {
  const tokens = `${inputTokens ?? "?"} tokens in, ${outputTokens ?? "?"} out`;
  return costUsd === null ? tokens : `${tokens}, $${costUsd}`;
}

function valueText(value: unknown): string {
  return typeof value === "string" ? value : inspect(value, { depth: 6, breakLength: Number.POSITIVE_INFINITY });
}
