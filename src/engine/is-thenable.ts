/** Whether `await` would wait for it: a promise of any library. */
export function isThenable(value: unknown): value is PromiseLike<unknown> {
  if (value === null || (typeof value !== "object" && typeof value !== "function")) return false;
  return "then" in value && typeof value.then === "function";
}
