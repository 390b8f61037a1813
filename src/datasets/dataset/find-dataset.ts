import { RolloutError } from "../../base/rollout-error.ts";
import { suggest } from "../../base/suggest.ts";
import type { DatasetRecord } from "../../store/dataset-store.ts";
import type { Store } from "../../store/store.ts";

const namesToShow = 20;

/** The dataset with an id or a name; rejects with `not_found` and names what there is. */
export async function findDataset(store: Store, idOrName: string): Promise<DatasetRecord> {
  const found = await store.datasets.find(idOrName);
  if (found) return found;
  const { entries } = await store.datasets.list({ after: null, limit: namesToShow });
  const names = entries.map(({ name }) => name);
  const near = suggest(idOrName, names);
  const hint = names.length === 0 ? "the store holds no dataset yet" : `there are: ${names.join(", ")}`;
  throw new RolloutError(
    "not_found",
    `there is no dataset "${idOrName}" in ${store.location}${near === undefined ? "" : `; did you mean "${near}"?`}`,
    { hint },
  );
}
