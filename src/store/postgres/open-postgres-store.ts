import { RolloutError } from "../../base/rollout-error.ts";
import { openSqlStore } from "../sql/open-sql-store.ts";
import type { OpenStoreOptions, Store } from "../store.ts";
import { openPostgresDatabase } from "./postgres-database.ts";

/** Opens the store in a PostgreSQL database. */
export async function openPostgresStore(options: OpenStoreOptions): Promise<Store> {
  const { location } = options;
  return openSqlStore(await openPostgresDatabase(location, withoutPassword(location)), options);
}

function withoutPassword(location: string): string {
  let url: URL;
  try {
    url = new URL(location);
  } catch {
    throw new RolloutError("usage_invalid", "the address of the store is not a valid URL", {
      hint: "postgres://USER:PASSWORD@HOST:PORT/DATABASE, with special characters of the password percent-encoded",
    });
  }
  url.password = "";
  for (const name of ["password", "sslpassword"]) url.searchParams.delete(name);
  return url.href;
}
