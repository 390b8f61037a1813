import type { Clock } from "../base/clock.ts";
import type { Host } from "../base/host.ts";
import type { DatasetStore } from "./dataset-store.ts";
import type { RunStore } from "./run-store.ts";

/** Where datasets, runs and their results outlive a process. Every call may be made by several processes at once. */
export interface Store extends AsyncDisposable {
  /** What a person would type to open it again; never with a password. */
  readonly location: string;
  readonly datasets: DatasetStore;
  readonly runs: RunStore;
}

/** Part of a long list. `next` is the position to continue from; null at the end. */
export interface Page<Entry, Cursor = number> {
  readonly entries: readonly Entry[];
  readonly next: Cursor | null;
}

/** Which part of a list: up to `limit` entries after `after`, or from the beginning if it is null. */
export interface PageRequest<Cursor = number> {
  readonly after: Cursor | null;
  readonly limit: number;
}

/** What it takes to open a store. */
export interface OpenStoreOptions {
  /** A file, `memory:`, or the address of a PostgreSQL database. */
  readonly location: string;
  readonly host: Host;
  readonly clock: Clock;
  /** `read` makes nothing and rejects with `not_found` when there is no store. */
  readonly access: "write" | "read";
}
