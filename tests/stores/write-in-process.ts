// Writes to a store: `node write-in-process.ts LOCATION NAME ROUNDS`. Prints a line for each write that was acknowledged.
import { writeSync } from "node:fs";
import { systemClock } from "../../src/base/clock.ts";
import { readHost } from "../../src/base/host.ts";
import { readOwner } from "../../src/base/process-owner.ts";
import { sampleRun, sampleUnit } from "../../src/store/conformance/sample-run.ts";
import { openStore } from "../../src/store/registry.ts";

const [location = "", name = "", rounds = "0"] = process.argv.slice(2);
const host = readHost(process);
const print = (line: string): void => void writeSync(1, `${line}\n`);

await using store = await openStore({ location, host, clock: systemClock, access: "write" });
const dataset = await store.datasets.find("shared");
if (!dataset) throw new Error("there is no dataset to write to");
const run = sampleRun({ id: name, datasets: [{ name: "shared", id: dataset.id, version: null }] });
const lease = await store.runs.create(run, readOwner(host));
print("created");
for (let round = 0; round < Number(rounds); round++) {
  const indexes = Array.from({ length: 10 }, (_, n) => round * 10 + n);
  await lease.write(indexes.map((n) => sampleUnit(n)));
  print(`units ${round}`);
  if (round % 4 !== 0) continue;
  await using write = await store.datasets.openWrite({
    datasetId: dataset.id,
    mode: "merge",
    note: `${name} ${round}`,
  });
  await write.put(indexes.map((n) => ({ id: `${name}-${n}`, input: n })));
  await write.put([{ id: "both", input: `${name} ${round}` }]);
  const { version } = await write.commit();
  print(`version ${version} ${round}`);
}
await lease.end({ ...run, status: "completed", isResumable: false });
print("ended");
