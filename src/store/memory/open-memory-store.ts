import type { OpenStoreOptions, Store } from "../store.ts";
import { MemoryDatasetStore } from "./memory-dataset-store.ts";
import { MemoryRunStore } from "./memory-run-store.ts";

/** Opens a store in the memory of this process. */
export function openMemoryStore({ host, clock }: Pick<OpenStoreOptions, "host" | "clock">): Store {
  return {
    location: "memory:",
    datasets: new MemoryDatasetStore(clock),
    runs: new MemoryRunStore(host, clock),
    async [Symbol.asyncDispose]() {},
  };
}
