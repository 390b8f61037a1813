import "../base/check-node.ts";

export type * from "../environments/environment.ts";
export type { Clock } from "../base/clock.ts";
export type { Host } from "../base/host.ts";
export type { Log } from "../base/log.ts";
export type { Redactor } from "../base/redactor.ts";
export { RolloutError } from "../base/rollout-error.ts";
export { moduleOf } from "../environments/module-of.ts";
export { knownProviderNames, loadProviderModule } from "../environments/registry.ts";
