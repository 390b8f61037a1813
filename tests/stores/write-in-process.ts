// A process that writes to a store: `node write-in-process.ts LOCATION NAME ROUNDS`. A line on stdout for all that was acknowledged.
import { writeSync } from "node:fs";
import { systemClock } from "../../src/base/clock.ts";
import { readHost } from "../../src/base/host.ts";
import { readOwner } from "../../src/base/process-owner.ts";
import { planRun, resultOf, scoreOf } from "../../src/store/conformance/store-case.ts";
import { openStore } from "../../src/store/registry.ts";

const [location = "", name = "", rounds = "0"] = process.argv.slice(2);
const host = readHost(process);
const say = (line: string): void => void writeSync(1, `${line}\n`);

await using store = await openStore({ location, host, clock: systemClock, access: "write" });
const dataset = await store.datasets.find("shared");
if (!dataset) throw new Error("there is no dataset to write to");
const hold = await store.runs.begin(planRun({ id: name, datasetId: dataset.id }), readOwner(host));
say("begun");
for (let round = 0; round < Number(rounds); round++) {
  const indexes = Array.from({ length: 10 }, (_, n) => round * 10 + n);
  const batch = { results: indexes.map((n) => resultOf(n)), scores: indexes.map((n) => scoreOf(n, "exact")) };
  await hold.write(batch);
  say(`results ${round}`);
  if (round % 4 !== 0) continue;
  await using write = await store.datasets.openWrite({
    datasetId: dataset.id,
    mode: "merge",
    note: `${name} ${round}`,
  });
  await write.put(indexes.map((n) => ({ id: `${name}-${n}`, input: n })));
  await write.put([{ id: "both", input: `${name} ${round}` }]);
  const { version } = await write.commit();
  say(`version ${version} ${round}`);
}
await hold.end({ status: "completed", isFinished: true, succeeded: 1, failed: 0, error: null, summary: null });
say("ended");
