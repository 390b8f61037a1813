import { plainJson } from "../base/plain-json.ts";
import type { RunEvent, RunHead, RunListener, RunTail, Unit } from "../store/run.ts";

// A change that could break a reader raises it.
const schemaVersion = 1;

export interface JsonEventsOptions {
  /** Takes whole lines. */
  readonly write: (text: string) => void;
}

/** A listener that writes every event as one line of JSON. */
export function createJsonEvents({ write }: JsonEventsOptions): RunListener {
  return (event) => write(`${jsonLine(event)}\n`);
}

/** An event as JSON on one line: snake_case names, ISO times, null for numbers that JSON does not have. */
export function jsonLine(event: RunEvent): string {
  const line = { schema_version: schemaVersion, type: event.type, at: isoTime(event.at), ...bodyOf(event) };
  return plainJson(line);
}

function bodyOf(event: RunEvent): Record<string, unknown> {
  switch (event.type) {
    case "run_started":
      return { run: headOf(event.run) };
    case "unit_started":
      return { key: event.key, labels: event.labels };
    case "unit_phase":
      return { key: event.key, phase: event.phase };
    case "unit_activity":
      return { key: event.key, line: event.line };
    case "unit_retry":
      return { key: event.key, tries: event.tries, wait_ms: event.waitMs, failure: event.failure };
    case "unit_finished":
    case "unit_kept":
      return { unit: unitOf(event.unit) };
    case "run_activity":
      return { line: event.line };
    case "run_paused":
    case "run_continued":
      return {};
    case "warning":
      return { message: event.message };
    case "run_stopping":
      return { reason: event.reason, running: event.running, is_terminating: event.isTerminating };
    case "run_finished":
      return { tail: tailOf(event.tail) };
    default:
      return event satisfies never;
  }
}

function headOf(head: RunHead): Record<string, unknown> {
  const { shape, groups, budget, ...rest } = head;
  return {
    ...rest,
    ...(groups ? { groups } : {}),
    ...(budget ? { budget: budget.map(({ atMost, ...row }) => ({ ...row, at_most: atMost })) } : {}),
    shape: {
      group_by: shape.groupBy,
      item_label: shape.itemLabel,
      mark_name: shape.markName,
      ...(shape.otherMarks ? { other_marks: shape.otherMarks } : {}),
      pass_at: shape.passAt,
      unit_noun: shape.unitNoun,
    },
  };
}

function unitOf(unit: Unit): Record<string, unknown> {
  const { durationSec, phases, isUntrusted, outputJson, ...rest } = unit;
  return {
    ...rest,
    ...(outputJson === undefined ? {} : { output: JSON.parse(outputJson) as unknown }),
    ...(isUntrusted === undefined ? {} : { is_untrusted: isUntrusted }),
    duration_sec: durationSec,
    phases: phases.map((phase) => ({ name: phase.name, duration_sec: phase.durationSec })),
  };
}

function tailOf(tail: RunTail): Record<string, unknown> {
  const { durationSec, wholeMarks, ...rest } = tail;
  return { ...rest, ...(wholeMarks ? { whole_marks: wholeMarks } : {}), duration_sec: durationSec };
}

function isoTime(ms: number): string | null {
  const time = new Date(ms);
  return Number.isNaN(time.getTime()) ? null : time.toISOString();
}
