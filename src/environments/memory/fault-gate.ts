/** Everything that can be made to fail or to wait. */
export type MemoryOperation =
  | "probe"
  | "build"
  | "pull"
  | "create"
  | "exec"
  | "copyTo"
  | "copyFrom"
  | "list"
  | "kill"
  | "freeze"
  | "changes"
  | "network"
  | "snapshot"
  | "stop"
  | "destroy";

/** What an operation is done to. */
export interface FaultTarget {
  /** The name of the environment; null for probes, builds and pulls. */
  readonly environment: string | null;
  /** The image it is made from, or the key of the plan that is built or pulled; null for probes. */
  readonly image: string | null;
  readonly labels: Readonly<Record<string, string>>;
}

/** An operation that is about to begin. */
export interface FaultPoint extends FaultTarget {
  readonly operation: MemoryOperation;
  /** 1 for the first time that this is done to this environment or image. */
  readonly attempt: number;
  readonly signal: AbortSignal;
}

/** May throw, or wait; one that ignores the point's signal makes the operation as late as a stubborn engine would. */
export type FaultHook = (point: FaultPoint) => void | Promise<void>;

/** Lets an operation pass once the hook has. */
export type FaultGate = (operation: MemoryOperation, target: FaultTarget, signal: AbortSignal) => Promise<void>;

/** A gate that counts attempts and asks the hook, if there is one. */
export function createFaultGate(hook: FaultHook | undefined): FaultGate {
  const attempts = new Map<string, number>();
  return async (operation, target, signal) => {
    if (!hook) return;
    const key = `${operation} ${target.environment ?? target.image ?? ""}`;
    const attempt = (attempts.get(key) ?? 0) + 1;
    attempts.set(key, attempt);
    await hook({ ...target, operation, attempt, signal });
  };
}
