import { systemClock } from "../../src/base/clock.ts";
import { readHost } from "../../src/base/host.ts";
import { openStore } from "../../src/store/registry.ts";

// Starts to create a dataset and never commits it.
const [location = "", name = ""] = process.argv.slice(2);
const store = await openStore({ location, host: readHost(process), clock: systemClock, access: "write" });
const nothing = { description: null, metadata: {}, inputSchema: null, expectedOutputSchema: null, scorerIds: null };
const write = await store.datasets.openWrite({ datasetId: { name, ...nothing }, mode: "replace", note: null });
await write.put([{ id: "a", input: 1 }]);
console.log("staged");
setInterval(() => {}, 1000);
