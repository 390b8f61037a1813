import { RolloutError } from "../base/rollout-error.ts";

/** The dataset or run does not exist. */
export function unknownError(what: "dataset" | "run", id: string): RolloutError {
  return new RolloutError("not_found", `there is no ${what} "${id}"`);
}

/** The dataset has no such version. */
export function unknownVersionError(datasetId: string, version: number, newest: number): RolloutError {
  const hint = newest === 0 ? "it has no version yet" : `its versions are 1 to ${newest}`;
  return new RolloutError("not_found", `dataset "${datasetId}" has no version ${version}`, { hint });
}

/** The name of a dataset or the id of a run is taken. */
export function takenError(what: string): RolloutError {
  return new RolloutError("already_exists", `${what} exists already`, { hint: "choose another name" });
}

/** The write cannot be continued. */
export function lostWriteError(): RolloutError {
  return new RolloutError("in_use", "this write is over: it was committed, given up, or its dataset was removed");
}

/** Rejects names and ids that some stores cannot hold. */
export function checkName(what: string, value: string): void {
  const problem = problemOfName(value);
  if (problem !== null) throw new RolloutError("usage_invalid", `${what} ${problem}`);
}

function problemOfName(value: unknown): string | null {
  if (typeof value !== "string") return "is not a string";
  if (value === "") return "is empty";
  if (value.length > maxNameLength) return `is longer than ${maxNameLength} characters`;
  return value.includes("\0") || !value.isWellFormed() ? "contains a NUL or half of a surrogate pair" : null;
}

const maxNameLength = 1024;

/** Rejects a page without entries. */
export function checkLimit(limit: number): void {
  if (!Number.isInteger(limit) || limit < 1) {
    throw new RolloutError("usage_invalid", `limit: expected an integer of at least 1, got ${limit}`);
  }
}
