import { createHmac } from "node:crypto";
import type { NetworkPolicy } from "../../environments/environment.ts";

// Goes up whenever snapshots of an earlier version must not be used any more.
const format = 1;

/** Everything that decides what an install leaves. */
export interface InstallInputs {
  /** What the environment starts from, as its provider identifies it. */
  readonly image: string;
  readonly script: string;
  /** With values: the key does not tell them without the machine's own key. */
  readonly env: Readonly<Record<string, string>>;
  readonly instructionPath: string;
  readonly network: NetworkPolicy;
}

/** One name for an install and all it depends on, from which nobody without the machine's key can guess a value. */
export function installKey(machineKey: Uint8Array, inputs: InstallInputs): string {
  const { image, script, env, instructionPath, network } = inputs;
  const variables = Object.entries(env).sort(([a], [b]) => (a < b ? -1 : 1));
  const text = JSON.stringify([format, image, script, variables, instructionPath, network]);
  return createHmac("sha256", machineKey).update(text).digest("hex").slice(0, 40);
}
