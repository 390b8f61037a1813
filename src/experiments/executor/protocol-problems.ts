import type { ExecutorNote } from "./executor-voice.ts";

/** How many messages of executors were no answers, by kind. */
export type ProtocolProblems = Readonly<Record<ProblemKind, number>>;

type ProblemKind = (typeof kinds)[number];

const kinds = ["unknown", "duplicate", "late", "malformed", "unconfirmed"] as const;

/** Counts what is wrong with the messages of executors. */
export class ProblemCounter {
  readonly #counts = new Map<ProblemKind, number>();

  /** Returns how many of its kind there are now; 0 for output. */
  add(note: ExecutorNote): number {
    if (note.kind === "output") return 0;
    const kind = note.kind === "unmatched" ? note.why : note.kind;
    const count = (this.#counts.get(kind) ?? 0) + 1;
    this.#counts.set(kind, count);
    return count;
  }

  /** All that were counted, and those of earlier sessions. */
  totalWith(earlier: Partial<ProtocolProblems>): ProtocolProblems {
    const entries = kinds.map((kind) => [kind, (earlier[kind] ?? 0) + (this.#counts.get(kind) ?? 0)]);
    return Object.fromEntries(entries) as ProtocolProblems;
  }
}

/** Describes the problems in one line; null if there are none. */
export function describeProblems(problems: ProtocolProblems): string | null {
  const parts = kinds.filter((kind) => problems[kind] > 0).map((kind) => `${problems[kind]} ${kind}`);
  return parts.length === 0 ? null : `protocol problems: ${parts.join(", ")}`;
}
