import { createReadStream, existsSync } from "node:fs";
import { createInterface } from "node:readline";

/** A trial that was running when the log was last written to. */
export interface RunningTrial {
  readonly key: string;
  readonly startedAt: number;
  /** Null until its first phase begins. */
  readonly phase: string | null;
  readonly phaseAt: number;
}

interface LoggedEvent {
  readonly type: string;
  readonly at: number;
  readonly key?: string;
  readonly phase?: string;
  readonly unit?: { readonly key: string };
}

/** Trials that have begun and not ended, by the log of a session; the longest-running first. */
export async function readRunning(logFile: string): Promise<RunningTrial[]> {
  const running = new Map<string, RunningTrial>();
  if (!existsSync(logFile)) return [];
  for await (const line of createInterface({ input: createReadStream(logFile) })) {
    const event = parseEvent(line);
    if (event?.type === "unit_started" && event.key !== undefined)
      running.set(event.key, { key: event.key, startedAt: event.at, phase: null, phaseAt: event.at });
    else if (event?.type === "unit_phase" && event.key !== undefined) {
      const known = running.get(event.key);
      if (known) running.set(event.key, { ...known, phase: event.phase ?? null, phaseAt: event.at });
    } else if (event?.type === "unit_finished" && event.unit) running.delete(event.unit.key);
  }
  return [...running.values()].sort((one, other) => one.startedAt - other.startedAt);
}

// Cheap to pass over for the many lines that are something else; the last one may be cut.
function parseEvent(line: string): LoggedEvent | null {
  if (!/"unit_(started|phase|finished)"/.test(line)) return null;
  try {
    return (JSON.parse(line) as { event?: LoggedEvent }).event ?? null;
  } catch {
    return null;
  }
}
