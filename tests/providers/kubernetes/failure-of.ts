import { expect } from "vitest";
import { RolloutError } from "../../../src/base/rollout-error.ts";

/** What work is refused with. */
export async function failureOf(work: Promise<unknown>): Promise<RolloutError> {
  const error: unknown = await work.then(
    () => null,
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(RolloutError);
  return error as RolloutError;
}
