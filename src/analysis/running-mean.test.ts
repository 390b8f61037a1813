import fc from "fast-check";
import { expect, test } from "vitest";
import { RunningMean } from "./running-mean.ts";
import { summarizeMarks } from "./summarize-marks.ts";

const score = fc.oneof(
  fc.constantFrom(0, 1),
  fc.integer({ min: 0, max: 1000 }).map((value) => value / 1000),
  fc.integer({ min: -1e6, max: 1e6 }),
);

test("it says what a summary of all marks says, whatever the clusters", () => {
  fc.assert(
    fc.property(fc.array(fc.array(score, { maxLength: 4 }), { maxLength: 30 }), (clusters) => {
      const running = new RunningMean();
      for (const values of clusters) running.addCluster(values);
      const whole = summarizeMarks(
        clusters.map((values, at) => ({ item: String(at), values })),
        1,
      );
      expect(running.count).toBe(whole.values);
      if (whole.meanMark === null) expect(running.mean).toBeNull();
      else expect(running.mean).toBeCloseTo(whole.meanMark, 6);
      const { interval } = running;
      const { meanMarkInterval: expected } = whole;
      expect(interval?.method).toBe(expected?.method);
      if (expected && interval) {
        const scale = Math.max(1, Math.abs(expected.high - expected.low));
        expect(Math.abs(interval.low - expected.low) / scale).toBeLessThan(1e-4);
        expect(Math.abs(interval.high - expected.high) / scale).toBeLessThan(1e-4);
      }
    }),
    { numRuns: 500 },
  );
});

test("values far from zero keep the digits of their spread", () => {
  const running = new RunningMean();
  for (const value of [1e9 + 1, 1e9 + 2, 1e9 + 3]) running.addCluster([value]);
  const { low, high } = running.interval ?? { low: 0, high: 0 };
  expect(high - low).toBeCloseTo((2 * 4.302_652_7) / Math.sqrt(3), 4);
});
