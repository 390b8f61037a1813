import { RolloutError } from "../base/rollout-error.ts";

/** Says that there is no such dataset, version or run. */
export function unknownError(what: "dataset" | "run", id: string): RolloutError {
  return new RolloutError("not_found", `there is no ${what} "${id}"`);
}

/** Says that a dataset has no such version. */
export function unknownVersionError(datasetId: string, version: number, newest: number): RolloutError {
  const hint = newest === 0 ? "it has no version yet" : `its versions are 1 to ${newest}`;
  return new RolloutError("not_found", `dataset "${datasetId}" has no version ${version}`, { hint });
}

/** Says that a dataset's name is taken, or a run's id. */
export function takenError(what: string): RolloutError {
  return new RolloutError("already_exists", `${what} exists already`, { hint: "choose another name" });
}

/** Says that a write cannot be gone on with. */
export function lostWriteError(): RolloutError {
  return new RolloutError("in_use", "this write is over: it was committed, given up, or its dataset was removed");
}

/** Refuses names and ids that not every store can keep. */
export function checkName(what: string, value: string): void {
  const problem = problemOfName(value);
  if (problem !== null) throw new RolloutError("usage_invalid", `${what} ${problem}`);
}

function problemOfName(value: unknown): string | null {
  if (typeof value !== "string") return "is no text";
  if (value === "") return "is empty";
  if (value.length > longestName) return `is longer than ${longestName} characters`;
  return value.includes("\0") || !value.isWellFormed() ? "holds a NUL or half of a character" : null;
}

const longestName = 1024;

/** Refuses a page of no entries. */
export function checkLimit(limit: number): void {
  if (!Number.isInteger(limit) || limit < 1) {
    throw new RolloutError("usage_invalid", `a page takes a limit of at least 1, not ${limit}`);
  }
}
