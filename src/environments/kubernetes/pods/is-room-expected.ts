import { keptLabel } from "./pod-labels.ts";
import type { PodWatch } from "./pod-watch.ts";

// Of nodes that nobody's end would make fit.
const nobodyInTheWay = /preemption: 0\/\d+ nodes are available: \d+ Preemption is not helpful for scheduling\.?$/;

/** True when a Pod that waits in vain does so beside others of ours, whose end may make room for it; the words are what it waits for. */
export function isRoomExpected({ pods }: Pick<PodWatch, "pods">, name: string, words: string): boolean {
  if (nobodyInTheWay.test(words)) return false;
  return pods.some(({ metadata, spec, status }) => {
    const isPlaced = spec?.nodeName !== undefined && status?.phase !== "Failed" && status?.phase !== "Succeeded";
    return metadata.name !== name && isPlaced && metadata.labels?.[keptLabel] !== "true";
  });
}
