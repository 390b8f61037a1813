import { watch, type FSWatcher } from "node:fs";
import { basename, dirname, join } from "node:path";

/** Watches files from the moment they are named, whatever happens until somebody asks. */
export class FileChanges implements Disposable {
  readonly #first = Promise.withResolvers<string>();
  readonly #folders = new Map<string, { readonly names: Set<string>; readonly watcher: FSWatcher }>();

  /** Editors replace files: only their folder is sure to stay the same. */
  add(files: Iterable<string>): void {
    for (const file of files) {
      const folder = dirname(file);
      const known = this.#folders.get(folder);
      if (known) known.names.add(basename(file));
      else this.#open(folder, new Set([basename(file)]));
    }
  }

  /** The first that has changed; rejects with the signal's reason. */
  async first(signal: AbortSignal): Promise<string> {
    const aborted = Promise.withResolvers<never>();
    const onAbort = (): void => aborted.reject(signal.reason);
    if (signal.aborted) onAbort();
    else signal.addEventListener("abort", onAbort, { once: true });
    try {
      return await Promise.race([this.#first.promise, aborted.promise]);
    } finally {
      signal.removeEventListener("abort", onAbort);
    }
  }

  [Symbol.dispose](): void {
    for (const { watcher } of this.#folders.values()) watcher.close();
  }

  #open(folder: string, names: Set<string>): void {
    const watcher = watch(folder, (_kind, name) => {
      if (name !== null && names.has(name)) this.#first.resolve(join(folder, name));
    });
    this.#folders.set(folder, { names, watcher });
  }
}
