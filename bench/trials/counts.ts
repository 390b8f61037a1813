import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { readFileSync } from "node:fs";

// The smallest program, started by a shell or by us, faults on more pages than that; the same one differs by fewer.
const leastFaults = 50;

/** What happened between two moments. */
export interface Counts {
  /** The programs that were started. */
  readonly programs: readonly string[];
  readonly calls: number;
  /** The page faults of processes that have ended, which those leave that were started behind the back of the channel. */
  readonly faults: number;
}

/** Notes the processes that this one starts, and its HTTP requests, until it is stopped. */
export function startCounting(): () => Counts {
  const started: { readonly spawnfile?: string }[] = [];
  let calls = 0;
  const onProcess = (message: unknown): void =>
    void started.push((message as { process: (typeof started)[number] }).process);
  const onCall = (): void => void calls++;
  const before = readFaultsOfChildren();
  subscribe("child_process", onProcess);
  subscribe("http.client.request.start", onCall);
  return () => {
    unsubscribe("child_process", onProcess);
    unsubscribe("http.client.request.start", onCall);
    const programs = started.map(({ spawnfile }) => spawnfile ?? "unknown");
    return { programs, calls, faults: readFaultsOfChildren() - before };
  };
}

/** How many processes one more trial starts: what a job with many starts beside what one with a single trial does. */
export function processesPerTrial(one: Counts, many: Counts, trials: number): number {
  const seen = (many.programs.length - one.programs.length) / (trials - 1);
  const unseen = (many.faults - one.faults) / (trials - 1) >= leastFaults ? 1 : 0;
  return Math.max(seen, unseen);
}

function readFaultsOfChildren(): number {
  const stat = readFileSync("/proc/self/stat", "utf8");
  return Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[8]);
}
