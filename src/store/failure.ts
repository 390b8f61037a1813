import { fingerprintOf } from "./fingerprint.ts";
import type { Failure } from "./run.ts";

/** Makes a failure and its fingerprint. Remove secrets from the message first: the fingerprint contains parts of it. */
export function createFailure(failure: Omit<Failure, "fingerprint">): Failure {
  return { ...failure, fingerprint: fingerprintOf(failure) };
}
