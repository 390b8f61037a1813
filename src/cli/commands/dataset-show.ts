import { RolloutError } from "../../base/rollout-error.ts";
import { fitWidth, plainText } from "../../base/terminal-text.ts";
import { findDataset } from "../../datasets/dataset/find-dataset.ts";
import { chooseVersions, diffVersions } from "../../datasets/dataset/read-items.ts";
import { countText } from "../../report/number-text.ts";
import type { DatasetItem, DatasetRecord, ItemChange } from "../../store/dataset-store.ts";
import type { Store } from "../../store/store.ts";
import type { CliContext } from "../cli-context.ts";
import { datasetJson, itemJson, jsonText } from "../dataset-json.ts";
import { exitCodes } from "../exit-codes.ts";
import { readNameAndVersion } from "../name-and-version.ts";
import { storeWords, withStore, type StoreOptions } from "../with-store.ts";
import { shellWord } from "../../base/shown-path.ts";

export interface ShowOptions extends StoreOptions {
  readonly limit: number;
  readonly item?: string;
}

/** `rollout dataset show`: a dataset with its first items, or one item with its history. */
export async function showDatasetCommand(word: string, options: ShowOptions, context: CliContext): Promise<number> {
  return withStore(options, "read", context, async (store) => {
    const { dataset, version } = await readNameAndVersion(store, word);
    if (options.item !== undefined) await showItem(store, dataset, options.item, options, context);
    else await showItems(store, dataset, version, options, context);
    return exitCodes.done;
  });
}

async function showItems(
  store: Store,
  dataset: DatasetRecord,
  version: number,
  options: ShowOptions,
  { terminal }: CliContext,
): Promise<void> {
  const { entries, next } = await store.datasets.items(dataset.id, version, { after: null, limit: options.limit });
  if (options.json) {
    terminal.out(jsonText({ dataset: datasetJson(dataset), version, items: entries.map(itemJson) }));
    return;
  }
  const of = await store.datasets.version(dataset.id, version);
  const line = (text: string): void => terminal.out(`${plainText(text)}\n`);
  if (dataset.version === 0) line(`${dataset.name}: nothing was written to it yet`);
  else line(`${dataset.name}, version ${version} of ${dataset.version}: ${countText(of?.itemCount ?? 0, "item")}`);
  if (dataset.description !== null) line(`  ${dataset.description}`);
  if (dataset.inputSchema !== null) line(`  input schema: ${JSON.stringify(dataset.inputSchema)}`);
  if (dataset.expectedOutputSchema !== null) line(`  expected schema: ${JSON.stringify(dataset.expectedOutputSchema)}`);
  if (dataset.scorerIds !== null) line(`  scorers: ${dataset.scorerIds.join(", ") || "none"}`);
  for (const item of entries) line(fitWidth(`  ${item.id}  ${bodyText(item)}`, terminal.columns()));
  if (next !== null) line(`  … (--limit shows more)`);
  const words = `${shellWord(dataset.name)}${storeWords(options, store.location)}`;
  terminal.out(`next: rollout dataset ${dataset.version === 0 ? "import FILE --name" : "versions"} ${words}\n`);
}

async function showItem(
  store: Store,
  dataset: DatasetRecord,
  itemId: string,
  options: ShowOptions,
  { terminal }: CliContext,
): Promise<void> {
  const history = await store.datasets.history(dataset.id, itemId);
  if (history.length === 0) {
    throw new RolloutError("not_found", `no version of "${dataset.name}" has an item "${itemId}"`);
  }
  if (options.json) {
    const editions = history.map(({ item, until }) => ({ ...itemJson(item), until_version: until }));
    terminal.out(jsonText({ dataset: dataset.name, item: itemId, editions }));
    return;
  }
  for (const { item, until } of history) {
    const stand = until === null ? `since version ${item.version}` : `from version ${item.version} until ${until}`;
    const { id: _, version: __, ...body } = item;
    terminal.out(plainText(`${itemId}, ${stand}:`) + `\n${plainLines(JSON.stringify(body, null, 2))}\n`);
  }
}

/** `rollout dataset diff`: what differs between two versions. */
export async function diffDatasetCommand(
  name: string,
  from: number | undefined,
  to: number | undefined,
  options: ShowOptions,
  context: CliContext,
): Promise<number> {
  const { terminal } = context;
  return withStore(options, "read", context, async (store, signal) => {
    const dataset = await findDataset(store, name);
    const chosen = chooseVersions(dataset, { from, to });
    const counts = { added: 0, changed: 0, removed: 0 };
    const shown: ItemChange[] = [];
    for await (const change of diffVersions({ store, dataset: dataset.id, ...chosen, signal })) {
      counts[kindOf(change)]++;
      if (shown.length < options.limit) shown.push(change);
    }
    if (options.json) {
      const changes = shown.map((change) => ({
        id: change.id,
        kind: kindOf(change),
        before: change.before && itemJson(change.before),
        after: change.after && itemJson(change.after),
      }));
      terminal.out(jsonText({ dataset: dataset.name, ...chosen, ...counts, changes }));
      return exitCodes.done;
    }
    const line = (text: string): void => terminal.out(`${fitWidth(plainText(text), terminal.columns())}\n`);
    line(
      `${dataset.name}, version ${chosen.from} to ${chosen.to}: ` +
        `${counts.added} added, ${counts.changed} changed, ${counts.removed} removed`,
    );
    for (const { id, before, after } of shown) {
      if (before) line(`- ${id}  ${bodyText(before)}`);
      if (after) line(`+ ${id}  ${bodyText(after)}`);
    }
    if (counts.added + counts.changed + counts.removed > shown.length) line("… (--limit shows more)");
    return exitCodes.done;
  });
}

function kindOf({ before, after }: ItemChange): "added" | "changed" | "removed" {
  return before === null ? "added" : after === null ? "removed" : "changed";
}

function bodyText({ input, expectedOutput, metadata, scorerIds }: DatasetItem): string {
  const parts = [JSON.stringify(input)];
  if (expectedOutput !== undefined) parts.push(`-> ${JSON.stringify(expectedOutput)}`);
  if (metadata !== undefined) parts.push(JSON.stringify(metadata));
  if (scorerIds !== undefined) parts.push(`scorers ${scorerIds.join(", ")}`);
  return parts.join("  ");
}

function plainLines(text: string): string {
  return text.split("\n").map(plainText).join("\n");
}
