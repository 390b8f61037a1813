import { resolve } from "node:path";
import { RolloutError } from "../../base/rollout-error.ts";
import { plainText } from "../../base/terminal-text.ts";
import { exportDataset } from "../../datasets/dataset/export-dataset.ts";
import type { ItemFormat } from "../../formats/source-entry.ts";
import { countText } from "../../report/number-text.ts";
import type { CliContext } from "../cli-context.ts";
import { jsonText } from "../dataset-json.ts";
import { exitCodes } from "../exit-codes.ts";
import { readNameAndVersion } from "../name-and-version.ts";
import { withStore, type StoreOptions } from "../with-store.ts";

export interface ExportOptions extends StoreOptions {
  readonly format?: ItemFormat;
}

/** `rollout dataset export`: writes a version of a dataset to a file, or to stdout. */
export async function exportDatasetCommand(
  word: string,
  file: string | undefined,
  options: ExportOptions,
  context: CliContext,
): Promise<number> {
  const { host, process, terminal } = context;
  const isOutput = file === undefined || file === "-";
  if (isOutput && options.json)
    throw new RolloutError("usage_invalid", "--json tells what was written to a file, and none is named", {
      hint: "--format json writes the items themselves as JSON",
    });
  return withStore(options, "read", context, async (store, signal) => {
    const { dataset, version } = await readNameAndVersion(store, word);
    // A reader that is slow is waited for; one that went away (`| head`) ends it.
    const gone = new AbortController();
    const write = (text: string): Promise<void> =>
      new Promise((done) => process.stdout.write(text, (error) => done(error ? gone.abort() : undefined)));
    const exported = exportDataset({
      store,
      dataset: dataset.id,
      version,
      to: isOutput ? { write } : resolve(host.cwd, file),
      format: options.format,
      signal: AbortSignal.any([signal, gone.signal]),
    });
    const { written } = await exported.catch((error: unknown) => {
      if (gone.signal.aborted) return { written: 0 };
      throw error;
    });
    if (isOutput) return exitCodes.done;
    if (options.json) terminal.out(jsonText({ dataset: dataset.name, version, items_written: written, file }));
    else {
      terminal.out(plainText(`${dataset.name}@${version}: ${countText(written, "item")} written to ${file}`) + "\n");
    }
    return exitCodes.done;
  });
}
