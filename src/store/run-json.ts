import type { Json, JsonObject } from "../base/json.ts";
import type { Run, RunEvent, Unit, UnitRow } from "./run.ts";
import type { FollowedEvent } from "./run-source.ts";

/** The version of the JSON forms. Fields may be added to it; any other change makes a new version. */
export const jsonSchemaVersion = 1;

/** Returns the JSON form of a run: names in snake_case, times in ISO 8601. */
export function runJson(run: Run): JsonObject {
  return versioned(run);
}

/** Returns the JSON form of a unit. */
export function unitJson(unit: Unit): JsonObject {
  return versioned(unit);
}

/** Returns the JSON form of a unit without its texts. */
export function unitRowJson(row: UnitRow): JsonObject {
  return versioned(row);
}

/** Returns the JSON form of an event, with the run or the unit it is about. */
export function eventJson(event: RunEvent | FollowedEvent["event"]): JsonObject {
  return versioned(event);
}

// Not by the ending `At`: `passAt` is a score.
const timeFields: ReadonlySet<string> = new Set(["at", "createdAt", "startedAt", "endedAt"]);
// Their keys are names that users and features chose.
const valueFields: ReadonlySet<string> = new Set([
  "labels",
  "params",
  "tags",
  "details",
  "metadata",
  "input",
  "expected",
  "output",
  "excluded",
]);

function versioned(value: object): JsonObject {
  return { schema_version: jsonSchemaVersion, ...convertObject(value) };
}

function convertObject(value: object): JsonObject {
  const converted: Record<string, Json> = {};
  for (const [name, member] of Object.entries(value) as [string, unknown][]) {
    if (member !== undefined) converted[toSnakeCase(name)] = convertMember(name, member);
  }
  return converted;
}

function convertMember(name: string, value: unknown): Json {
  if (valueFields.has(name)) return value as Json;
  if (timeFields.has(name) && typeof value === "number") return toIsoTime(value);
  return convert(value);
}

function convert(value: unknown): Json {
  if (Array.isArray(value)) return value.map(convert);
  if (typeof value === "object" && value !== null) return convertObject(value);
  if (typeof value === "number") return Number.isFinite(value) ? value : null;
  return value as Json;
}

function toSnakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

const maxTimeMs = 8.64e15;

function toIsoTime(ms: number): string | null {
  return Math.abs(ms) <= maxTimeMs ? new Date(ms).toISOString() : null;
}
