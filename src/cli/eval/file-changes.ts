import { watch } from "node:fs";
import { basename, dirname, join } from "node:path";

/** The first of the files to change; rejects with the signal's reason. */
export function nextChange(files: Iterable<string>, signal: AbortSignal): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const names = Map.groupBy(files, (file) => dirname(file));
  // Editors replace files: only their folder is sure to stay the same.
  const watchers = [...names].map(([folder, inFolder]) => {
    const known = new Set(inFolder.map((file) => basename(file)));
    return watch(folder, (_kind, name) => {
      if (name !== null && known.has(name)) resolve(join(folder, name));
    });
  });
  const onAbort = (): void => reject(signal.reason);
  if (signal.aborted) onAbort();
  else signal.addEventListener("abort", onAbort, { once: true });
  return promise.finally(() => {
    signal.removeEventListener("abort", onAbort);
    for (const watcher of watchers) watcher.close();
  });
}
