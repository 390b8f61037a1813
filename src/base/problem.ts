/** One thing that is wrong with something a person wrote, and where it stands. */
export interface Problem {
  readonly file: string;
  /** Counted from 1; absent when the problem is about the whole file or a missing one. */
  readonly line?: number | undefined;
  readonly column?: number | undefined;
  /** The key as a person would say it: `agents[1].execute`. */
  readonly path?: string | undefined;
  readonly message: string;
  readonly severity: "error" | "warning";
}

/** `job.yaml:12:5 agents[1].exceute: unknown key; did you mean "execute"?` */
export function formatProblem(problem: Problem): string {
  const place = problem.line === undefined ? problem.file : `${problem.file}:${problem.line}:${problem.column ?? 1}`;
  const text = problem.path ? `${problem.path}: ${problem.message}` : problem.message;
  return `${place} ${problem.severity === "warning" ? `warning: ${text}` : text}`;
}

/** `["agents", 1, "execute"]` -> `agents[1].execute` */
export function formatPath(path: readonly (string | number)[]): string {
  let text = "";
  for (const part of path) {
    if (typeof part === "number") text += `[${part}]`;
    else if (/^[A-Za-z_][\w-]*$/.test(part)) text += text ? `.${part}` : part;
    else text += `[${JSON.stringify(part)}]`;
  }
  return text;
}

/** Sorts problems by their place in the file; those without a line come first. */
export function comparePlaces(a: Problem, b: Problem): number {
  return (a.line ?? 0) - (b.line ?? 0) || (a.column ?? 0) - (b.column ?? 0);
}

/** Line and column (from 1) of an offset into a text. */
export function positionAt(text: string, offset: number): { line: number; column: number } {
  const before = text.slice(0, offset);
  const lastBreak = before.lastIndexOf("\n");
  return { line: before.split("\n").length, column: offset - lastBreak };
}
