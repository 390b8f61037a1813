import type { Host } from "../../base/host.ts";
import type { Store } from "../store.ts";
import { checkSchema, migrate } from "./migrate.ts";
import type { SqlDatabase } from "./sql-database.ts";
import { openSqlDatasetStore } from "./sql-dataset-store.ts";
import { openSqlRunStore } from "./sql-run-store.ts";

/** A store on a database, which it owns from now on, also when it rejects. */
export async function openSqlStore(database: SqlDatabase, host: Host, access: "write" | "read"): Promise<Store> {
  try {
    await (access === "read" ? checkSchema(database) : migrate(database));
  } catch (error) {
    await database[Symbol.asyncDispose]();
    throw error;
  }
  return {
    location: database.location,
    datasets: openSqlDatasetStore(database, host),
    runs: openSqlRunStore(database, host),
    [Symbol.asyncDispose]: () => database[Symbol.asyncDispose](),
  };
}
