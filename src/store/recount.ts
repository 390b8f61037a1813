import { HeadlineTally } from "../analysis/headline-tally.ts";
import type { RunSource } from "./run-source.ts";
import type { Page } from "./store.ts";
import { exclusionOf, scoreOf, type Run, type RunSession, type UnitRow } from "./run.ts";

// Above this, reading the units would cost seconds, and the counts of the last heartbeat have to do.
const maxUnits = 100_000;

const pageSize = 1_000;

/**
 * Returns a source that reads the counts of runs that have not ended from their units. The process of a run stores its
 * counts only now and then, and a process that died never stored the last ones.
 */
export function countExactly(source: RunSource): RunSource {
  const count = async (run: Run): Promise<Run> => {
    const { status, plan } = run;
    if ((status !== "running" && status !== "paused" && status !== "interrupted") || plan.total > maxUnits) return run;
    return recountRun(run, await readRows(source, run.id));
  };
  return {
    async list(filter, page) {
      const { entries, next } = await source.list(filter, page);
      return { entries: await Promise.all(entries.map(count)), next };
    },
    async get(runId) {
      const run = await source.get(runId);
      return run && (await count(run));
    },
    rows: (runId, query) => source.rows(runId, query),
    units: (runId, query) => source.units(runId, query),
    unit: (runId, key) => source.unit(runId, key),
    artifacts: (runId, key) => source.artifacts(runId, key),
    artifact: (runId, key, name, range) => source.artifact(runId, key, name, range),
    follow: (runId, cursor, signal) => source.follow(runId, cursor, signal),
  };
}

async function readRows(source: RunSource, runId: string): Promise<UnitRow[]> {
  const rows: UnitRow[] = [];
  for (let after: string | null = null; ;) {
    const page: Page<UnitRow, string> = await source.rows(runId, { page: { after, limit: pageSize } });
    rows.push(...page.entries);
    if (page.next === null) return rows;
    after = page.next;
  }
}

/** Returns a run with the counts, the headline, the costs and the duration that its stored units give. */
export function recountRun(run: Run, rows: readonly UnitRow[]): Run {
  const { shape } = run;
  const headline = new HeadlineTally(shape.passAt, repeatsOf(run));
  const counts = { finished: rows.length, completed: 0, failed: 0, cancelled: 0, untrusted: 0 };
  const excluded: Record<string, number> = {};
  let [spendUsd, unknownSpends] = [0, 0];
  for (const row of rows) {
    counts[row.status]++;
    if (row.isUntrusted) counts.untrusted++;
    if (row.spendUsd === null) unknownSpends++;
    else spendUsd += row.spendUsd;
    const value = scoreOf(row, shape.scoreName);
    const reason = value !== null || row.failure === null ? null : exclusionOf(row.failure);
    if (reason !== null) excluded[reason] = (excluded[reason] ?? 0) + 1;
    const isMissed = value === null && row.failure !== null && reason === null;
    headline.add(itemOf(run, row), value !== null ? { value } : isMissed ? "missed" : "excluded");
  }
  const tallied = headline.summarize();
  return {
    ...run,
    counts,
    headline: shape.scoreName === "" ? null : { score: shape.scoreName, ...tallied, excluded },
    spendUsd,
    unknownSpends,
    sessions: extendLastSession(run, rows),
  };
}

/** Returns the sessions of a run. The last one lasted at least until its last unit ended, if its process died. */
export function extendLastSession(
  { sessions, status }: Pick<Run, "sessions" | "status">,
  rows: readonly UnitRow[],
): readonly RunSession[] {
  const last = sessions.at(-1);
  if (last === undefined || last.endedAt !== null || status !== "interrupted") return sessions;
  let endedAt = last.startedAt;
  for (const row of rows) endedAt = Math.max(endedAt, row.endedAt ?? row.startedAt + row.durationSec * 1000);
  const durationSec = Math.max(last.durationSec, (endedAt - last.startedAt) / 1000);
  return [...sessions.slice(0, -1), { ...last, durationSec }];
}

function repeatsOf({ shape, plan }: Run): number {
  return shape.itemCount === undefined || shape.itemCount === 0 ? 1 : Math.round(plan.total / shape.itemCount);
}

// Several agents may run the same item.
function itemOf({ shape }: Run, { labels, key }: UnitRow): string {
  const item = labels[shape.itemLabel] ?? key;
  return [...shape.groupBy.map((label) => labels[label] ?? ""), item].join("\0");
}
