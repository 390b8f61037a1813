import { isDeepStrictEqual } from "node:util";

/** Something that a job directory says in two ways. */
export interface Difference {
  /** Below the job directory. */
  readonly file: string;
  /** `agents.oracle.pass_rate`; empty when it is about the whole file. */
  readonly field: string;
  readonly recorded: unknown;
  readonly recomputed: unknown;
}

/** Walks through two values side by side and remembers where they part. */
export class Comparison {
  readonly differences: Difference[] = [];
  compared = 0;

  compare(file: string, field: string, recorded: unknown, recomputed: unknown): void {
    if (isTable(recorded) && isTable(recomputed)) {
      for (const key of new Set([...Object.keys(recorded), ...Object.keys(recomputed)]))
        this.compare(file, field === "" ? key : `${field}.${key}`, recorded[key], recomputed[key]);
      return;
    }
    if (Array.isArray(recorded) && Array.isArray(recomputed) && recorded.length === recomputed.length) {
      for (const [index, part] of recorded.entries())
        this.compare(file, `${field}[${index}]`, part, (recomputed as unknown[])[index]);
      return;
    }
    this.compared++;
    if (!isDeepStrictEqual(recorded, recomputed)) this.differences.push({ file, field, recorded, recomputed });
  }
}

function isTable(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
