import { expect, test } from "vitest";
import { PendingAnswers, type Pending } from "./pending-answers.ts";

function call(id: number, key: string): Pending {
  const { signal } = new AbortController();
  return { id, key, runId: null, what: "the task", limitMs: 1, dueAt: 1, signal, waiter: null };
}

test("a pending call is never overwritten", () => {
  const pending = new PendingAnswers();
  const first = call(1, "task a#1");
  pending.add(first);
  expect(() => pending.add(call(2, "task a#1"))).toThrow('internal error: "task a#1" is already pending');
  expect(pending.take(null, "task a#1")).toBe(first);
  pending.add(call(3, "task a#1"));
});
