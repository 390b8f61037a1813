import type { Clock } from "../../../base/clock.ts";
import type { Log } from "../../../base/log.ts";
import { messageOf } from "../../../base/rollout-error.ts";
import { startDeadline } from "../../../engine/deadline.ts";
import type { KubeClient } from "../connection/kube-client.ts";
import { hasStatus, KubeError } from "../connection/kube-error.ts";
import { readJsonLines } from "../../json-lines.ts";
import type { Pod } from "./pod.ts";

// The server ends a watch by itself after that long; one that it does not end is dead.
const watchSeconds = 240;
const lateMs = 30_000;
const restMs = 500;
const longestRestMs = 10_000;

export interface PodWatchOptions {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly log: Log;
  readonly namespace: string;
  readonly labelSelector: string;
}

interface WatchEvent {
  readonly type?: string;
  readonly object?: Pod & { readonly code?: number; readonly message?: string };
}

/** Knows how all the Pods of one provider stand, by one watch for all of them. */
export class PodWatch implements Disposable {
  readonly #options: PodWatchOptions;
  readonly #ending = new AbortController();
  readonly #pods = new Map<string, Pod>();
  readonly #listeners = new Map<string, Set<(pod: Pod | null) => void>>();
  /** Of Pods that are being made, what was seen before the answer of their creation: undefined for nothing, null when gone. */
  readonly #early = new Map<string, Pod | null | undefined>();
  #isRunning = false;

  constructor(options: PodWatchOptions) {
    this.#options = options;
  }

  /** Has a Pod created; from then on one that is not seen is gone. The watch may tell of it before its creation is answered. */
  async admit(name: string, create: () => Promise<Pod>): Promise<Pod> {
    this.#early.set(name, undefined);
    try {
      const pod = await create();
      const early = this.#early.get(name);
      if (early !== null) this.#pods.set(name, early ?? pod);
      this.#start();
      return pod;
    } finally {
      this.#early.delete(name);
    }
  }

  #start(): void {
    if (this.#isRunning) return;
    this.#isRunning = true;
    void this.#run();
  }

  /** To be called when a Pod was removed: whoever waits for it hears so, and nobody asks about it any more. */
  drop(name: string): void {
    if (this.#pods.delete(name)) this.#tell(name, null);
    this.#listeners.delete(name);
  }

  /** All that were made and not removed, as they were last seen. */
  get pods(): readonly Pod[] {
    return [...this.#pods.values()];
  }

  /** The Pod as it was last seen; null when it is gone. */
  get(name: string): Pod | null {
    return this.#pods.get(name) ?? null;
  }

  /** Tells of every change; null once the Pod is gone. Dispose it to stop listening. */
  listen(name: string, onChange: (pod: Pod | null) => void): Disposable {
    const listeners = this.#listeners.get(name) ?? new Set();
    this.#listeners.set(name, listeners.add(onChange));
    return { [Symbol.dispose]: () => void listeners.delete(onChange) };
  }

  /** Resolves with the first thing that is seen in the Pod; null stands for a Pod that is gone. */
  wait<T>(name: string, look: (pod: Pod | null) => T | undefined, signal: AbortSignal): Promise<T> {
    return new Promise((resolve, reject) => {
      const onAbort = (): void => settle(() => reject(signal.reason));
      const onChange = (pod: Pod | null): void => {
        try {
          const seen = look(pod);
          if (seen !== undefined) settle(() => resolve(seen));
        } catch (error) {
          settle(() => reject(error));
        }
      };
      const listening = this.listen(name, onChange);
      const settle = (end: () => void): void => {
        listening[Symbol.dispose]();
        signal.removeEventListener("abort", onAbort);
        end();
      };
      if (signal.aborted) return onAbort();
      signal.addEventListener("abort", onAbort, { once: true });
      onChange(this.get(name));
    });
  }

  [Symbol.dispose](): void {
    this.#ending.abort();
  }

  async #run(): Promise<void> {
    const { clock, log } = this.#options;
    const { signal } = this.#ending;
    let version: string | null = null;
    for (let failures = 0; !signal.aborted;) {
      try {
        version ??= await this.#list(signal);
        version = await this.#follow(version, signal);
        failures = 0;
      } catch (error) {
        if (signal.aborted) return;
        // What it should go on from is too old to be known.
        if (hasStatus(error, 410)) version = null;
        else failures++;
        log.write("debug", `the watch of Pods: ${messageOf(error)}`);
        const waitMs = Math.min(restMs * 2 ** failures, longestRestMs);
        await clock.sleep(hasStatus(error, 410) ? 0 : waitMs, signal).catch(() => {});
      }
    }
  }

  async #list(signal: AbortSignal): Promise<string> {
    const { client } = this.#options;
    const path = `${this.#path()}?labelSelector=${encodeURIComponent(this.#options.labelSelector)}`;
    const list = await client.json<{ metadata: { resourceVersion: string }; items: readonly Pod[] }>({
      method: "GET",
      path,
      signal,
    });
    const { resourceVersion } = list.metadata;
    const seen = new Set(list.items.map(({ metadata }) => metadata.name));
    for (const pod of list.items) this.#put(pod);
    for (const [name, pod] of this.#pods) {
      // One that was made after the list is told of by the watch.
      const isOlder = Number(pod.metadata.resourceVersion ?? 0) <= Number(resourceVersion);
      if (!seen.has(name) && isOlder) this.drop(name);
    }
    return resourceVersion;
  }

  async #follow(from: string, parent: AbortSignal): Promise<string> {
    const { client, clock, labelSelector } = this.#options;
    const query = new URLSearchParams({
      labelSelector,
      watch: "true",
      allowWatchBookmarks: "true",
      resourceVersion: from,
      timeoutSeconds: String(watchSeconds),
    });
    const limitMs = watchSeconds * 1000 + lateMs;
    using deadline = startDeadline({ clock, limitMs, parent, what: "the watch of Pods" });
    const { signal } = deadline;
    const answer = await client.open({ method: "GET", path: `${this.#path()}?${query.toString()}`, signal });
    signal.addEventListener("abort", () => void answer.destroy(), { once: true });
    let version = from;
    try {
      for await (const event of readJsonLines(answer)) version = this.#take(event) ?? version;
    } finally {
      answer.destroy();
    }
    return version;
  }

  #take({ type, object }: WatchEvent): string | undefined {
    if (object === undefined) return undefined;
    if (type === "ERROR") throw new KubeError(object.code ?? 500, object.message ?? "the watch failed");
    if (type === "DELETED") this.#lose(object.metadata.name);
    else if (type !== "BOOKMARK") this.#put(object);
    return object.metadata.resourceVersion;
  }

  #lose(name: string): void {
    if (this.#early.has(name)) this.#early.set(name, null);
    this.drop(name);
  }

  // Pods that were forgotten are nobody's concern any more.
  #put(pod: Pod): void {
    const { name, uid } = pod.metadata;
    if (this.#early.has(name)) this.#early.set(name, pod);
    const known = this.#pods.get(name);
    if (known === undefined || known.metadata.uid !== uid) return;
    this.#pods.set(name, pod);
    this.#tell(name, pod);
  }

  #tell(name: string, pod: Pod | null): void {
    for (const listener of this.#listeners.get(name) ?? []) listener(pod);
  }

  #path(): string {
    return `/api/v1/namespaces/${this.#options.namespace}/pods`;
  }
}
