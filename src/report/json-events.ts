import { plainJson } from "../base/plain-json.ts";
import { eventJson } from "../store/run-json.ts";
import type { RunListener } from "../store/run.ts";

export interface JsonEventsOptions {
  /** Receives complete lines. */
  readonly write: (text: string) => void;
}

/** A listener that writes every event as one line of JSON. */
export function createJsonEvents({ write }: JsonEventsOptions): RunListener {
  return (event) => write(`${plainJson(eventJson(event))}\n`);
}
