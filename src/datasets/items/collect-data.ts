import { messageOf, RolloutError } from "../../base/rollout-error.ts";
import { describeUnknown } from "../../base/suggest.ts";
import { shapeProblems } from "../dataset/write-items.ts";
import type { DataItem, RunConfig } from "../run-config.ts";

const itemKeys: readonly string[] = ["id", "input", "expectedOutput", "metadata", "scorerIds"];
const mostProblems = 20;

/** The items that `data` gives, whatever gives them; throws with every problem of theirs at once. */
export async function collectData(data: RunConfig["data"]): Promise<readonly DataItem[]> {
  const items = await readData(data);
  const problems = [...findProblems(items)];
  if (problems.length === 0) return items as readonly DataItem[];
  const shown = problems.slice(0, mostProblems).join("; ");
  const more = problems.length > mostProblems ? `; and ${problems.length - mostProblems} more` : "";
  throw invalid(`${shown}${more}`, "an item is { input, … }");
}

async function readData(data: unknown): Promise<readonly unknown[]> {
  const given: unknown = typeof data === "function" ? await call(data as () => unknown) : data;
  if (Array.isArray(given)) return given;
  if (typeof given !== "object" || given === null || !isIterable(given)) {
    const kind = given === null ? "null" : typeof given;
    throw invalid(
      `data: ${typeof data === "function" ? "gave" : "is"} ${kind === "object" ? "an object" : kind}, not a list of items`,
      "give a list, something to iterate over, or a function that gives either",
    );
  }
  return await call(() => Array.fromAsync(given as AsyncIterable<unknown>));
}

function isIterable(value: object): boolean {
  return Symbol.asyncIterator in value || Symbol.iterator in value;
}

async function call<T>(give: () => T | Promise<T>): Promise<T> {
  try {
    return await give();
  } catch (thrown) {
    const details = thrown instanceof Error && thrown.stack !== undefined ? thrown.stack.split("\n").slice(0, 6) : [];
    throw new RolloutError("config_invalid", `data: failed: ${messageOf(thrown)}`, { cause: thrown, details });
  }
}

function* findProblems(items: readonly unknown[]): Iterable<string> {
  const ids = new Set<string>();
  for (const [place, item] of items.entries()) {
    const at = `data[${place}]`;
    if (typeof item !== "object" || item === null || !("input" in item)) {
      yield `${at} has no input`;
      continue;
    }
    for (const key of Object.keys(item))
      if (!itemKeys.includes(key)) yield `${at}.${key}: ${describeUnknown("key", key, itemKeys)}`;
    const { id, metadata, scorerIds } = item as Partial<Record<string, unknown>>;
    for (const { path, message } of shapeProblems({ id, metadata, scorerIds })) yield `${at}.${path}: ${message}`;
    const told = typeof id === "string" ? id : String(place + 1);
    if (ids.has(told)) yield `${at}: two items of \`data\` have the id "${told}"`;
    ids.add(told);
  }
}

function invalid(message: string, hint: string): RolloutError {
  return new RolloutError("config_invalid", message, { hint });
}
