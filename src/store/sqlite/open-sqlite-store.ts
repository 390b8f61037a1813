import { existsSync, mkdirSync, statSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { messageOf, RolloutError } from "../../base/rollout-error.ts";
import { openSqlStore } from "../sql/open-sql-store.ts";
import type { OpenStoreOptions, Store } from "../store.ts";
import { openSqliteDatabase } from "./sqlite-database.ts";

/** Opens the store in a file. */
export async function openSqliteStore(options: OpenStoreOptions): Promise<Store> {
  const { location, host, clock, access } = options;
  const path = resolve(host.cwd, location);
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory())
    throw new RolloutError("usage_invalid", `the store ${location} is a folder`, { hint: "name a file in it" });
  if (access === "write") makeDirectory(dirname(path), location);
  else if (!existsSync(path)) {
    throw new RolloutError("not_found", `there is no store ${location}`, {
      hint: "name another store with --store, or create this one: rollout dataset import FILE",
    });
  }
  return openSqlStore(await openSqliteDatabase({ path, location, clock, access }), options);
}

function makeDirectory(path: string, location: string): void {
  try {
    mkdirSync(path, { recursive: true });
  } catch (error) {
    throw new RolloutError("io_failed", `the store ${location} cannot be created: ${messageOf(error)}`, {
      cause: error,
    });
  }
}
