import { readRegularFile } from "../../base/open-regular-file.ts";
import { runStatuses, type Run } from "../../store/run.ts";
import {
  hasMembers,
  isFlag,
  isList,
  isNumber,
  isTable,
  isText,
  isTexts,
  meets,
  orNull,
  parseTable,
} from "./journal-lines.ts";

const maxRunBytes = 1 << 20;

const runChecks: Readonly<Record<keyof Run, (value: unknown) => boolean>> = {
  id: isText,
  kind: (value) => value === "job",
  name: isText,
  description: orNull(isText),
  status: (value) => runStatuses.some((status) => status === value),
  isResumable: isFlag,
  createdAt: isNumber,
  endedAt: orNull(isNumber),
  sessions: isList,
  owner: orNull(hasMembers({ pid: isNumber, hostname: isText })),
  shape: hasMembers({ groupBy: isTexts, itemLabel: isText, scoreName: isText, passAt: isNumber, unitNoun: isText }),
  plan: hasMembers({ total: isNumber, concurrency: isNumber, groups: isList, budget: isList, metrics: isTexts }),
  counts: hasMembers({
    finished: isNumber,
    completed: isNumber,
    failed: isNumber,
    cancelled: isNumber,
    untrusted: isNumber,
  }),
  headline: orNull(hasMembers({ score: isText, passed: isNumber, counted: isNumber, excluded: isTable })),
  groups: isList,
  spendUsd: isNumber,
  unknownSpends: isNumber,
  scores: isList,
  targets: isTexts,
  datasets: (value) => Array.isArray(value) && value.every(hasMembers({ name: isText })),
  location: isText,
  params: isTable,
  tags: isTable,
  git: orNull(hasMembers({ revision: isText, isDirty: isFlag })),
  rolloutVersion: isText,
  error: orNull(isText),
  warnings: isTexts,
  notes: isTexts,
  details: isTable,
};

/** Reads a job's run.json. Returns null if there is none, or if it is damaged. */
export async function readRunFile(path: string): Promise<Run | null> {
  const value = parseTable((await readRegularFile(path, maxRunBytes)) ?? "");
  return value !== null && meets(value, runChecks) ? (value as unknown as Run) : null;
}
