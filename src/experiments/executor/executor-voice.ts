/** Something an executor did that is no answer. */
export type ExecutorNote =
  /** What user code printed; `runId` is null when it cannot be told whose it is. */
  | { readonly kind: "output"; readonly runId: string | null; readonly stream: string; readonly text: string }
  /** An answer that nobody waits for. */
  | { readonly kind: "unmatched"; readonly why: "unknown" | "duplicate" | "late"; readonly text: string }
  /** A message that could not be read, or only in part. */
  | { readonly kind: "malformed"; readonly text: string }
  /** JSON that looks like a message and names nothing that it answers. It is taken for output of user code. */
  | { readonly kind: "unconfirmed"; readonly runId: string | null; readonly stream: string; readonly text: string };

export type ExecutorListener = (note: ExecutorNote) => void;
