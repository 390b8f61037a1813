import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { openLocalRig } from "./local-rig.ts";

const rig = await openLocalRig();
const limits = { cpus: 1, memoryBytes: 2 ** 29, storageBytes: 2 ** 30 };

test("a start that is cancelled at any of its moments leaves no process, folder, mount or control group", async () => {
  const provider = await rig.openProvider();
  await provider.probe(new AbortController().signal);
  const outcomes = new Set<string>();
  // Twice the usual length of a start, in steps that are shorter than any of its own.
  for (let step = 0; step < 160; step++) {
    const cancelling = new AbortController();
    const request = { image: "base", name: "cancelled", limits, place: [], labels: {}, signal: cancelling.signal };
    const starting = provider.createEnvironment(request);
    const outcome = starting.then(
      async (environment) => {
        await environment.destroy(new AbortController().signal);
        return "started";
      },
      () => "cancelled",
    );
    await sleep(step / 4);
    cancelling.abort(new Error("not wanted any more"));
    outcomes.add(await outcome);
    expect([...rig.environments(), ...rig.mountsAndGroups(["local-cancelled"])], `after ${step / 4} ms`).toEqual([]);
  }
  await provider[Symbol.asyncDispose]();
  expect([...rig.processes(), ...rig.debris()]).toEqual([]);
  expect(outcomes).toContain("cancelled");
});
