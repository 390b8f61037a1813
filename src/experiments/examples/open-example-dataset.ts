import { toRaw } from "../../base/raw-json.ts";
import { RolloutError } from "../../base/rollout-error.ts";
import type { DatasetItem, DatasetRecord } from "../../store/dataset-store.ts";
import type { Store } from "../../store/store.ts";
import type { Example } from "../run/example.ts";
import type { ExampleSource } from "./example-source.ts";

const pageSize = 500;

/** The items of a version of a stored dataset as examples; throws when there is no such version, or nothing in it. */
export async function openExampleDataset(
  store: Store,
  { id, name, version: newest }: DatasetRecord,
  version: number,
): Promise<ExampleSource> {
  const count = version === 0 ? 0 : (await store.datasets.version(id, version))?.itemCount;
  if (count === undefined)
    throw new RolloutError("not_found", `dataset "${name}" has no version ${version}`, {
      hint: `its newest is ${newest}`,
    });
  if (count === 0) throw new RolloutError("config_invalid", `version ${version} of dataset "${name}" has no items`);
  return {
    name: `${name}@${version}`,
    dataset: { id, version },
    count,
    hash: null,
    plainFile: null,
    async *read() {
      for (let after: number | null = null; ;) {
        const { entries, next } = await store.datasets.items(id, version, { after, limit: pageSize });
        yield entries.map(toExample);
        if (next === null) return;
        after = next;
      }
    },
  };
}

function toExample({ id, input, expectedOutput, metadata }: DatasetItem): Example {
  return {
    id,
    input: toRaw(input),
    output: expectedOutput === undefined ? null : toRaw(expectedOutput),
    metadata: metadata === undefined ? null : toRaw(metadata),
  };
}
