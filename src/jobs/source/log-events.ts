import { LineTail } from "../../base/line-tail.ts";
import type { RunEvent } from "../../store/run.ts";
import { sessionLog } from "../output/job-paths.ts";
import type { JobIndex } from "./job-index.ts";
import type { JournalState } from "./journal-state.ts";
import { isTable, parseTable } from "./journal-lines.ts";

/** A place in the logs of a job. Each session has a log of its own. */
export interface LogPosition {
  readonly session: number;
  readonly offset: number;
}

/** An event that is in the log only, and the place after its line. */
export interface LogEvent {
  readonly event: Extract<RunEvent, { type: "unit_started" | "unit_phase" | "run_paused" | "run_continued" }>;
  readonly position: LogPosition;
}

/** Reads the events of running units from the log of the latest session, each once. */
export class LogEvents {
  readonly #index: JobIndex;
  readonly #start: LogPosition;
  #session = 0;
  #tail: LineTail | null = null;
  #events: LogEvent[] = [];

  constructor(index: JobIndex, start: LogPosition) {
    this.#index = index;
    this.#start = start;
  }

  async read(): Promise<readonly LogEvent[]> {
    const session = this.#index.state.started?.session ?? 1;
    if (this.#tail === null || session !== this.#session) this.#tail = this.#open(session);
    this.#session = session;
    this.#events = [];
    await this.#tail.read();
    return this.#events;
  }

  #open(session: number): LineTail {
    return new LineTail(sessionLog(this.#index.paths, session), {
      offset: session === this.#start.session ? this.#start.offset : 0,
      onLine: (line, _start, offset) => {
        const event = parseEvent(line, this.#index.state);
        if (event) this.#events.push({ event, position: { session, offset } });
      },
    });
  }
}

/** Returns whether a unit has finished since an event about it was logged. */
export function isOutdated({ event }: LogEvent, state: JournalState): boolean {
  if (!("key" in event)) return false;
  const endedAt = state.trial(event.key)?.row.endedAt ?? null;
  return endedAt !== null && event.at <= endedAt;
}

const usedTypes = ["unit_started", "unit_phase", "run_paused", "run_continued"].map((type) => `"message":"${type}"`);

function parseEvent(line: Buffer, state: JournalState): LogEvent["event"] | null {
  // Lines with other events can be long; they are not parsed.
  const beginning = line.toString("latin1", 0, 200);
  if (!usedTypes.some((type) => beginning.includes(type))) return null;
  const event = parseTable(line)?.["event"];
  if (!isTable(event)) return null;
  const { type, at, key, phase } = event;
  if (typeof at !== "number") return null;
  if (type === "run_paused" || type === "run_continued") return { type, at };
  const labels = typeof key === "string" ? state.labelsOf(key) : null;
  if (typeof key !== "string" || labels === null) return null;
  if (type === "unit_started") return { type, at, key, labels };
  return type === "unit_phase" && typeof phase === "string" ? { type, at, key, phase } : null;
}
