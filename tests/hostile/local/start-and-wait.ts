// Starts an environment with daemons in it, says so, and waits to be killed.
import { openLocal } from "../../providers/local/open-local.ts";

const [cacheDir = "", seconds = ""] = process.argv.slice(2);
const { signal } = new AbortController();
const provider = await openLocal(cacheDir);
const limits = { cpus: 1, memoryBytes: 2 ** 28, storageBytes: 2 ** 30 };
const request = { image: "base", name: "abandoned", limits, place: [], labels: { who: "abandoned" }, signal };
const environment = await provider.createEnvironment(request);
await environment.setNetwork("none", signal);
const stubborn = `trap '' TERM HUP INT; while :; do sleep ${seconds}; done`;
const script = `setsid bash -c "${stubborn}" </dev/null >/dev/null 2>&1 & (setsid nohup sleep ${seconds} >/dev/null 2>&1 &); sleep 0.2; echo ready`;
const sink = { write: (chunk: Uint8Array) => void process.stdout.write(chunk) };
await environment.exec({ command: ["bash", "-c", script], env: {}, stdout: sink, stderr: sink, signal });
// A command of ours runs as well when the end comes.
await environment.exec({ command: ["sleep", seconds], env: {}, stdout: sink, stderr: sink, signal });
