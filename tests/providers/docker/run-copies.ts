import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { collect } from "../../../src/environments/conformance/run-command.ts";
import { openDocker } from "./open-docker.ts";

// Run as a process of its own, so that its peak memory is that of the copies: copies a host path into a container and
// back, and prints what came back, what the container says about it, and the peak in kilobytes.
const [source = "", target = "", uid = "0", script = "true"] = process.argv.slice(2);
const never = new AbortController().signal;
const limits = { cpus: 2, memoryBytes: 512 * 2 ** 20, storageBytes: 8 * 2 ** 30 };

await using provider = await openDocker({}, {}, Number(uid));
const name = `copy-${randomUUID()}`;
const request = { image: "debian:bookworm-slim", name, limits, place: [], labels: {}, signal: never };
const environment = await provider.createEnvironment(request);
try {
  await environment.copyTo([{ kind: "tree", source, target: "/much" }], never);
  const [stdout, stderr] = [collect(), collect()];
  await environment.exec({ command: ["bash", "-c", script], env: {}, stdout, stderr, signal: never });
  const report = await environment.copyFrom({ source: "/much", target, signal: never });
  const peakKilobytes = Number(/VmHWM:\s+(\d+) kB/.exec(readFileSync("/proc/self/status", "utf8"))?.[1]);
  console.log(JSON.stringify({ ...report, inside: stdout.text().trim(), peakKilobytes }));
} finally {
  await environment.destroy(never);
}
