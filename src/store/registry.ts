import { RolloutError } from "../base/rollout-error.ts";
import type { OpenStoreOptions, Store } from "./store.ts";

/** Opens the store at a location. The caller disposes of it. */
export async function openStore(options: OpenStoreOptions): Promise<Store> {
  const { location } = options;
  if (location === "memory:" || location === ":memory:") {
    return (await import("./memory/open-memory-store.ts")).openMemoryStore(options);
  }
  if (/^postgres(?:ql)?:\/\//.test(location)) {
    return (await import("./postgres/open-postgres-store.ts")).openPostgresStore(options);
  }
  const [, scheme] = /^([a-z][\w+.-]*):\/\//i.exec(location) ?? [];
  if (scheme !== undefined)
    throw new RolloutError("usage_invalid", `a store cannot be at ${scheme}://`, {
      hint: "use a file, postgres://USER@HOST/DATABASE or memory:",
    });
  return (await import("./sqlite/open-sqlite-store.ts")).openSqliteStore(options);
}
