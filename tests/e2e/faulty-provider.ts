// A provider with the scripted shell that stands still where its `provider_config` says.
import { createMemoryProvider, type FaultPoint } from "rollout-eval/testing";
import type { ProviderModule } from "rollout-eval/environments";
import { setTimeout as sleep } from "node:timers/promises";
import { handler } from "./scripted-shell.ts";

interface FaultyConfig {
  /** The operation that never ends. */
  readonly hang: FaultPoint["operation"];
  /** Whether it at least ends when it is told to. */
  readonly obeys?: boolean;
}

/** The module that a job names with `type`. */
export const providerModule: ProviderModule = {
  name: "faulty",
  configSchema: { "~standard": { version: 1, vendor: "test", validate: (value) => ({ value }) } },
  async open({ config }) {
    const { hang, obeys = false } = config as FaultyConfig;
    return createMemoryProvider({
      handler,
      async faults({ operation, signal }) {
        // A pending timer, because an engine that does not answer holds a socket open too.
        if (operation === hang)
          await sleep(600_000, undefined, obeys ? { signal } : {}).catch(() => signal.throwIfAborted());
      },
    });
  },
};
