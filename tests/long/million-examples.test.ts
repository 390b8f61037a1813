import { expect, test } from "vitest";
import { Workshop } from "../../bench/experiments/workshop.ts";

const [few, many] = [10_000, 1_000_000];

test.each([
  { what: "in one go", more: [] },
  { what: "in phases", more: ["--phased"] },
])("an experiment of a million examples $what needs no more memory than one of ten thousand", async ({ more }) => {
  using shop = new Workshop();
  const order = { inFlight: 32, more };
  const small = await shop.runOurs({ ...order, examples: few });
  const large = await shop.runOurs({ ...order, examples: many });
  const megabytes = [small, large].map(({ peakBytes }) => Math.round(peakBytes / 1e6));
  const speed = `${((many / large.wallMs) * 1000).toFixed(0)} examples/s, ${((large.cpuMs * 1000) / many).toFixed(0)} µs CPU each`;
  console.log(`${speed}; at most ${megabytes.join(" and ")} MB`);
  expect(large.peakBytes - small.peakBytes).toBeLessThan(50e6);
});
