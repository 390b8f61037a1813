import { shellWord } from "../base/shown-path.ts";
import type { Store } from "../store/store.ts";
import type { CliContext } from "./cli-context.ts";
import { listenToInterrupts } from "./interrupts.ts";
import { openNamedStore } from "./open-store.ts";

export interface StoreOptions {
  readonly store?: string;
  readonly json?: boolean;
}

/** Opens the store that a person means, and gives it back when the work is over or was interrupted. */
export async function withStore<T>(
  { store: wanted }: StoreOptions,
  access: "write" | "read",
  context: CliContext,
  work: (store: Store, signal: AbortSignal) => Promise<T>,
): Promise<T> {
  using interrupts = listenToInterrupts(
    context.process,
    () => {},
    () => {},
    "the command",
  );
  await using store = await openNamedStore(wanted, access, context);
  return await work(store, interrupts.signal);
}

/** What a command typed next needs to mean the same store: nothing for the usual one. */
export function storeWords({ store }: Pick<StoreOptions, "store">, location: string): string {
  return store === undefined ? "" : ` --store ${shellWord(location)}`;
}
