import type { JournalLine } from "../output/job-journal.ts";

type Table = Readonly<Record<string, unknown>>;
type Check = (value: unknown) => boolean;

// A damaged first line must not fill the memory.
const maxPlannedTrials = 10_000_000;

/** Parses one line of a journal. Returns null for a line that is damaged or of an unknown type. */
export function parseJournalLine(line: Buffer): JournalLine | null {
  const value = parseTable(line);
  const checks = lineChecks.get(value?.["type"]);
  if (!value || !checks || !meets(value, checks) || isTooLarge(value)) return null;
  return value as unknown as JournalLine;
}

/** Parses a JSON object. Returns null for anything else. */
export function parseTable(text: Buffer | string): Table | null {
  try {
    const value: unknown = JSON.parse(typeof text === "string" ? text : text.toString("utf8"));
    return isTable(value) ? value : null;
  } catch {
    return null;
  }
}

/** Returns whether each named member of an object passes its check. */
export function meets(value: Table, checks: Readonly<Record<string, Check>>): boolean {
  for (const name in checks) if (!checks[name]?.(value[name])) return false;
  return true;
}

export const isText: Check = (value) => typeof value === "string";
export const isNumber: Check = (value) => typeof value === "number";
export const isFlag: Check = (value) => typeof value === "boolean";
export const isList: Check = Array.isArray;
export const isTexts: Check = (value) => Array.isArray(value) && value.every(isText);
export const isTable = (value: unknown): value is Table =>
  typeof value === "object" && value !== null && !Array.isArray(value);
export const orNull =
  (check: Check): Check =>
  (value) =>
    value === null || check(value);
export const hasMembers =
  (checks: Readonly<Record<string, Check>>): Check =>
  (value) =>
    isTable(value) && meets(value, checks);

const isNumberOrNull = orNull(isNumber);
const isCount: Check = (value) => Number.isSafeInteger(value) && (value as number) >= 0;
const isTime: Check = (value) => typeof value === "string" && !Number.isNaN(Date.parse(value));
const isError = orNull(hasMembers({ type: isText, message: isText, phase: orNull(isText), cause: isText }));

const resultChecks = {
  task_name: isText,
  dataset_name: isText,
  agent_name: isText,
  attempt: isCount,
  reward: isNumberOrNull,
  cost: isNumberOrNull,
  error: isError,
  durations: hasMembers({ total_sec: isNumber }),
  timestamps: hasMembers({ started_at: isTime, ended_at: isTime }),
  tries: isCount,
  warnings: isTexts,
  untrusted: isTexts,
  agent_usage: orNull(
    hasMembers({ cost_usd: isNumberOrNull, input_tokens: isNumberOrNull, output_tokens: isNumberOrNull }),
  ),
  inputs: hasMembers({
    task: orNull(isText),
    agent: orNull(isText),
    environment: orNull(isText),
    settings: orNull(isText),
  }),
};

const lineChecks: ReadonlyMap<unknown, Readonly<Record<string, Check>>> = new Map(
  Object.entries<Readonly<Record<string, Check>>>({
    job_started: {
      job_id: isText,
      session: isCount,
      job_name: isText,
      started_at: isTime,
      earlier_sessions: isList,
      n_concurrent_trials: isNumber,
      metrics: isTexts,
      has_verifier: isFlag,
      agents: isTexts,
      tasks: (value) => Array.isArray(value) && value.every(hasMembers({ dataset: isText, task: isText })),
      n_attempts: isCount,
      warnings: isTexts,
      datasets: isList,
      tags: isTable,
    },
    task_read: { dataset: isText, task: isText, hash: isText },
    trial_reopened: { index: isCount },
    trial_finished: { index: isCount, result: hasMembers(resultChecks) },
    trial_torn_down: { index: isCount, error: isError, warnings: isTexts, artifact_count: isCount },
    job_ended: { ended_at: isTime, duration_sec: isNumber, skipped: isList, warnings: isTexts },
  }),
);

function isTooLarge({ agents, tasks, n_attempts: attempts }: Table): boolean {
  if (!Array.isArray(agents) || !Array.isArray(tasks)) return false;
  return agents.length * tasks.length * Number(attempts) > maxPlannedTrials;
}
