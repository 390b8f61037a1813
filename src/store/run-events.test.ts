import { setTimeout } from "node:timers/promises";
import { expect, test } from "vitest";
import type { RunEvent } from "./run.ts";
import { RunEvents } from "./run-events.ts";

const warning = (message: string): RunEvent => ({ type: "warning", at: 0, message });
const textOf = (event: RunEvent): string => (event.type === "warning" ? event.message : event.type);

test("sends events in order and waits for a listener that returns a promise", async () => {
  const handled: string[] = [];
  const events = new RunEvents(
    async (event) => {
      await setTimeout(textOf(event) === "first" ? 10 : 0);
      handled.push(textOf(event));
    },
    () => {},
  );
  await Promise.all([events.emit(warning("first")), events.emit(warning("second")), events.emit(warning("third"))]);
  expect(handled).toEqual(["first", "second", "third"]);
});

test("calls a listener at once when nothing is pending", () => {
  const handled: string[] = [];
  const events = new RunEvents(
    (event) => handled.push(textOf(event)),
    () => {},
  );
  void events.emit(warning("now"));
  expect(handled).toEqual(["now"]);
});

test("reports a listener that throws once and keeps sending", async () => {
  const errors: string[] = [];
  let calls = 0;
  const events = new RunEvents(
    () => {
      calls++;
      throw new Error("no space");
    },
    (message) => errors.push(message),
  );
  await events.emit(warning("one"));
  await events.emit(warning("two"));
  expect({ calls, errors }).toEqual({ calls: 2, errors: ["the event listener failed on warning: no space"] });
});
