import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import type { ApiCounts } from "../../kubernetes-rig/fake-node/faulty-api.ts";

export interface ScaleRequest {
  /** The `provider_config`. */
  readonly config: Record<string, unknown>;
  readonly pods: number;
  readonly inFlight: number;
  /** How long the command in each Pod takes. */
  readonly holdSec: number;
}

/** What one process needed to send Pods through. */
export interface ScaleFigures {
  readonly pods: number;
  readonly seconds: number;
  readonly cpuMsPerPod: number;
  readonly mostInFlight: number;
  /** RSS before the first, and after every eighth of them. */
  readonly restingMegabytes: number;
  readonly megabytes: readonly number[];
  readonly peakMegabytes: number;
}

export interface ScaleOutcome extends ScaleFigures {
  readonly api: ApiCounts & { readonly left: number };
}

/** Sends Pods through a node without a kubelet, over an API server that refuses and cuts, with a process for each side. */
export async function measureScale(kubeconfig: string, request: Omit<ScaleRequest, "config">): Promise<ScaleOutcome> {
  const node = start("run-fake-node.ts", kubeconfig);
  const nodeLines = createInterface({ input: node.stdout ?? process.stdin })[Symbol.asyncIterator]();
  try {
    const { namespace, kubeconfig: way, selector, key } = await readLine<ReadyNode>(nodeLines, "the fake node");
    const tolerations = [{ key, operator: "Exists" }];
    const config = { namespace, kubeconfig: way, node_selector: selector, tolerations };
    const driver = start("run-scale.ts", JSON.stringify({ ...request, config }));
    // Without the node nothing would ever become ready.
    node.once("close", () => driver.kill());
    const lines = createInterface({ input: driver.stdout ?? process.stdin })[Symbol.asyncIterator]();
    const figures = await readLine<ScaleFigures>(lines, "the driver");
    node.stdin?.end();
    const api = await readLine<ScaleOutcome["api"]>(nodeLines, "the fake node");
    return { ...figures, api };
  } finally {
    node.stdin?.end();
    if (node.exitCode === null) await once(node, "close");
  }
}

interface ReadyNode {
  readonly namespace: string;
  readonly kubeconfig: string;
  readonly selector: Record<string, string>;
  readonly key: string;
}

function start(program: string, argument: string): ChildProcess {
  const file = fileURLToPath(new URL(program, import.meta.url));
  return spawn(process.execPath, ["--expose-gc", file, argument], { stdio: ["pipe", "pipe", "inherit"] });
}

async function readLine<T>(lines: AsyncIterator<string>, who: string): Promise<T> {
  const { value, done } = await lines.next();
  if (done) throw new Error(`${who} has ended without a word`);
  return JSON.parse(value) as T;
}
