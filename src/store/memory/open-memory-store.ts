import type { OpenStoreOptions, Store } from "../store.ts";
import { MemoryDatasetStore } from "./memory-dataset-store.ts";
import { MemoryRunStore } from "./memory-run-store.ts";

/** A store that lives as long as the process and that nobody else sees. */
export function openMemoryStore({ host, clock }: Pick<OpenStoreOptions, "host" | "clock">): Store {
  return {
    location: "memory:",
    datasets: new MemoryDatasetStore(clock),
    runs: new MemoryRunStore(host, clock),
    async [Symbol.asyncDispose]() {},
  };
}
