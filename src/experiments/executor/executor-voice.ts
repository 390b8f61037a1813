/** Something an executor did that is no answer. */
export type ExecutorNote =
  /** What user code printed; `runId` is null when it cannot be told whose it is. */
  | { readonly kind: "output"; readonly runId: string | null; readonly stream: string; readonly text: string }
  /** An answer that nobody waits for. */
  | { readonly kind: "unmatched"; readonly why: "unknown" | "duplicate" | "late"; readonly text: string }
  /** Something that is wrong with its messages. */
  | { readonly kind: "malformed"; readonly text: string };

export type ExecutorListener = (note: ExecutorNote) => void;
