import { describe, expect, test } from "vitest";
import { FakeClock } from "../base/testing/fake-clock.ts";
import { sampleRun, sampleUnit } from "../report/testing/sample-run.ts";
import { createFailure } from "../store/failure.ts";
import type { RunEvent } from "../store/run.ts";
import { openRunReporter } from "./run-reporter.ts";
import type { Terminal } from "./terminal.ts";

function eventsOf(name: string): RunEvent[] {
  const labels = { target: name, item: "one" };
  const shape = { groupBy: ["target"], itemLabel: "item", scoreName: "right", passAt: 1, unitNoun: "item" };
  const run = sampleRun({
    id: name,
    kind: "dataset",
    name,
    total: 1,
    concurrency: 1,
    shape,
    metrics: [],
    location: "",
  });
  const failure = createFailure({ type: "target_failed", message: `no ${name}`, phase: null, cause: "agent" });
  const unit = { ...sampleUnit({ key: "one", failure }), labels, scores: [] };
  return [
    { type: "run_started", at: 0, run },
    { type: "unit_started", at: 0, key: "one", labels },
    { type: "unit_finished", at: 0, unit },
    { type: "run_finished", at: 0, run: { ...run, status: "completed" }, next: [] },
  ];
}

function listen(isLive: boolean): { readonly terminal: Terminal; readonly heard: () => string } {
  let heard = "";
  const style = { colour: false, unicode: false };
  const terminal: Terminal = {
    out: () => {},
    err: (text) => (heard += text),
    isLive,
    outStyle: style,
    errStyle: style,
    columns: () => 80,
    rows: () => 24,
    onResize: () => ({ [Symbol.dispose]: () => {} }),
  };
  return { terminal, heard: () => heard };
}

describe("runs that follow one another", () => {
  test.each([true, false])("are each told while they last (live: %s), and leave no timer", (isLive) => {
    const clock = new FakeClock();
    const { terminal, heard } = listen(isLive);
    {
      using reporter = openRunReporter({ terminal, clock, json: null, quiet: false });
      for (const event of [...eventsOf("first"), ...eventsOf("second")]) reporter.onEvent(event);
    }
    expect(heard()).toContain("no first");
    expect(heard()).toContain("no second");
    expect(clock.pendingTimers).toBe(0);
  });

  test("say nothing when nothing is wanted", () => {
    const { terminal, heard } = listen(true);
    using reporter = openRunReporter({ terminal, clock: new FakeClock(), json: null, quiet: true });
    for (const event of [...eventsOf("first"), ...eventsOf("second")]) reporter.onEvent(event);
    expect(heard()).toBe("");
  });
});
