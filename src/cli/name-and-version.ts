import { findDataset } from "../datasets/dataset/find-dataset.ts";
import type { DatasetRecord } from "../store/dataset-store.ts";
import type { Store } from "../store/store.ts";

/** The dataset and the version that `name` or `name@3` stands for; without a number it is the newest. */
export async function readNameAndVersion(
  store: Store,
  word: string,
): Promise<{ dataset: DatasetRecord; version: number }> {
  const [, name, number] = /^(.+)@(\d+)$/.exec(word) ?? [];
  // A name may itself end like that.
  const whole = await store.datasets.find(word);
  if (whole || name === undefined) {
    const dataset = whole ?? (await findDataset(store, word));
    return { dataset, version: dataset.version };
  }
  return { dataset: await findDataset(store, name), version: Number(number) };
}
