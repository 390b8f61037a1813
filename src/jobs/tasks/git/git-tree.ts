/** One directory of one commit of a repository; a null commit means the newest one. */
export interface GitTreeRequest {
  readonly url: string;
  readonly commit: string | null;
  readonly path: string;
}

/** Where a directory was put, or why it was not. */
export type GitTree = ReadyTree | FailedTree;

export interface ReadyTree {
  readonly status: "ready";
  readonly url: string;
  readonly commit: string;
  readonly directory: string;
}

export interface FailedTree {
  readonly status: "failed";
  readonly failureType: "task_invalid" | "task_not_found";
  /** Null when it was never known. */
  readonly commit: string | null;
  readonly message: string;
  /** True only when asking again may succeed. */
  readonly transient: boolean;
}

/** A directory that was not put anywhere. */
export function failTree(
  failureType: "task_invalid" | "task_not_found",
  commit: string | null,
  message: string,
  transient = false,
): FailedTree {
  return { status: "failed", failureType, commit, message, transient };
}
