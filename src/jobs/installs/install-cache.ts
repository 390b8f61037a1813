import { messageOf } from "../../base/rollout-error.ts";
import type { Secret } from "../../base/redactor.ts";
import { createSecretFinder } from "../../base/secret-finder.ts";
import { raceWithSignal } from "../../engine/race-with-signal.ts";
import type { NetworkPolicy, SnapshotFile, SnapshotStore } from "../../environments/environment.ts";
import type { Agent } from "../config/job.ts";
import { installKey } from "./install-key.ts";
import { readMachineKey } from "./machine-key.ts";

/** Where a trial's install comes from. */
export type InstallTurn =
  /** It runs in the trial, as ever. */
  | { readonly kind: "fresh" }
  /** An earlier one left it: the reference to start the environment from. */
  | { readonly kind: "cached"; readonly ref: string }
  /** It runs in the trial, and what it leaves may be kept; `settle` must be called, with the reference or with null. */
  | { readonly kind: "bake"; readonly key: string; settle(ref: string | null): void };

export interface InstallCacheOptions {
  readonly store: SnapshotStore | null;
  readonly cacheDir: string;
  readonly instructionPath: string;
  /** The agent's. */
  readonly network: NetworkPolicy;
  readonly secrets: readonly Secret[];
  /** Told each thing once. */
  readonly onWarning: (message: string) => void;
}

/** Gives out installs: of all trials that need the same one, the first bakes it and the others wait for that. */
export class InstallCache {
  readonly #options: InstallCacheOptions;
  readonly #findSecret: (body: SnapshotFile["body"]) => Promise<string | null>;
  readonly #baking = new Map<string, Promise<string | null>>();
  readonly #refused = new Set<string>();
  readonly #warned = new Set<string>();

  constructor(options: InstallCacheOptions) {
    this.#options = options;
    this.#findSecret = createSecretFinder(options.secrets);
  }

  /** The turn of a trial whose environment is about to be made from an image. */
  async take(agent: Agent, image: string, signal: AbortSignal): Promise<InstallTurn> {
    const { store } = this.#options;
    if (!agent.isCached || agent.install === null || store === null) return { kind: "fresh" };
    try {
      const key = await this.#keyOf(store, agent, agent.install, image, signal);
      if (this.#refused.has(key)) return { kind: "fresh" };
      const baking = this.#baking.get(key);
      if (baking) {
        // One that failed is no reason to wait for the next: whoever waited for it installs on its own.
        const ref = await raceWithSignal(baking, signal, () => {});
        return ref === null ? { kind: "fresh" } : { kind: "cached", ref };
      }
      return await this.#begin(store, key, signal);
    } catch (error) {
      signal.throwIfAborted();
      this.warn(agent, `the cache could not be asked: ${messageOf(error)}`);
      return { kind: "fresh" };
    }
  }

  /** Notes that what this install leaves must not be kept; it is not tried again in this job. */
  refuse(agent: Agent, key: string, reason: string): void {
    this.#refused.add(key);
    this.warn(agent, reason);
  }

  warn(agent: Agent, reason: string): void {
    const message = `the install of agent ${agent.name} is not cached: ${reason}`;
    if (this.#warned.has(message)) return;
    this.#warned.add(message);
    this.#options.onWarning(message);
  }

  /** The name of a secret that a file holds in its name or its bytes; null when there is none. */
  async secretIn({ path, body }: SnapshotFile): Promise<string | null> {
    return (await this.#findSecret([Buffer.from(path)])) ?? this.#findSecret(body);
  }

  async #begin(store: SnapshotStore, key: string, signal: AbortSignal): Promise<InstallTurn> {
    const { promise, resolve } = Promise.withResolvers<string | null>();
    const settle = (ref: string | null): void => {
      resolve(ref);
      // Told again, it must not end the next one's turn.
      if (this.#baking.get(key) === promise) this.#baking.delete(key);
    };
    this.#baking.set(key, promise);
    try {
      const ref = await store.find(key, signal);
      if (ref === null) return { kind: "bake", key, settle };
      settle(ref);
      return { kind: "cached", ref };
    } catch (error) {
      settle(null);
      throw error;
    }
  }

  async #keyOf(
    store: SnapshotStore,
    agent: Agent,
    script: string,
    image: string,
    signal: AbortSignal,
  ): Promise<string> {
    const { cacheDir, instructionPath, network } = this.#options;
    const identity = await store.identify(image, signal);
    return installKey(readMachineKey(cacheDir), { image: identity, script, env: agent.env, instructionPath, network });
  }
}
