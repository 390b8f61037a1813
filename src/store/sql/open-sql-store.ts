import type { OpenStoreOptions, Store } from "../store.ts";
import { checkSchema, createSchema } from "./prepare-schema.ts";
import type { SqlDatabase } from "./sql-database.ts";
import { openSqlDatasetStore } from "./sql-dataset-store.ts";
import { openSqlRunStore } from "./sql-run-store.ts";

/** Opens a store on a database. The store disposes of the database, also if it cannot be opened. */
export async function openSqlStore(
  database: SqlDatabase,
  { host, clock, access }: Omit<OpenStoreOptions, "location">,
): Promise<Store> {
  try {
    await (access === "read" ? checkSchema(database) : createSchema(database));
  } catch (error) {
    await database[Symbol.asyncDispose]();
    throw error;
  }
  return {
    location: database.location,
    datasets: openSqlDatasetStore(database, host),
    runs: openSqlRunStore(database, host, clock),
    [Symbol.asyncDispose]: () => database[Symbol.asyncDispose](),
  };
}
