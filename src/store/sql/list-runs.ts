import type { Host } from "../../base/host.ts";
import { formatRunPosition, matchesRun, parseRunPosition } from "../page-runs.ts";
import type { Run, RunStatus } from "../run.ts";
import type { RunFilter } from "../run-source.ts";
import type { Page, PageRequest } from "../store.ts";
import { checkLimit } from "../store-error.ts";
import { runColumns, toRun, type RunRow } from "./run-rows.ts";
import type { SqlDatabase, SqlValue } from "./sql-database.ts";

type Condition = readonly [sql: string, ...values: SqlValue[]];

// A run whose process died is stored with the status it had then.
const storedStatuses: Readonly<Partial<Record<RunStatus, readonly RunStatus[]>>> = {
  interrupted: ["interrupted", "running", "paused"],
};

const minRowsPerQuery = 100;

/** Lists runs, newest first. SQL conditions narrow the rows; `matchesRun` decides. */
export async function listRuns(
  database: SqlDatabase,
  host: Host,
  filter: RunFilter,
  { after, limit }: PageRequest<string>,
): Promise<Page<Run, string>> {
  checkLimit(limit);
  const conditions = conditionsOf(filter);
  const rowsPerQuery = Math.max(limit + 1, minRowsPerQuery);
  const entries: Run[] = [];
  for (let position = parseRunPosition(after); ;) {
    const pageConditions = [...conditions];
    if (position !== null) {
      const { createdAt, id } = position;
      pageConditions.push(["(created_at < ? OR (created_at = ? AND id < ?))", createdAt, createdAt, id]);
    }
    const rows = await database.read((session) =>
      session.rows<RunRow>(
        `SELECT ${runColumns(database.dialect)} FROM rollout_runs
          WHERE ${pageConditions.map(([sql]) => sql).join(" AND ")} ORDER BY created_at DESC, id DESC LIMIT ?`,
        [...pageConditions.flatMap(([, ...values]) => values), rowsPerQuery],
      ),
    );
    for (const row of rows) {
      const run = toRun(row, host);
      if (!matchesRun(filter, run)) continue;
      if (entries.length === limit && position !== null) return { entries, next: formatRunPosition(position) };
      entries.push(run);
      position = { createdAt: row.created_at, id: row.id };
    }
    const last = rows.at(-1);
    if (last === undefined || rows.length < rowsPerQuery) return { entries, next: null };
    if (entries.length < limit) position = { createdAt: last.created_at, id: last.id };
  }
}

function conditionsOf({ kind, status, name, tags = {}, since, datasetId }: RunFilter): Condition[] {
  const conditions: Condition[] = [["is_removed = 0"]];
  if (kind !== undefined) conditions.push(["kind = ?", kind]);
  if (status !== undefined) {
    const stored = storedStatuses[status] ?? [status];
    conditions.push([`status IN (${stored.map(() => "?").join(", ")})`, ...stored]);
  }
  if (name !== undefined) conditions.push(["name = ?", name]);
  if (since !== undefined) conditions.push(["created_at >= ?", Math.trunc(since)]);
  if (datasetId !== undefined) conditions.push(["dataset_id = ?", datasetId]);
  for (const [key, value] of Object.entries(tags)) {
    const member = JSON.stringify({ [key]: value }).slice(1, -1);
    conditions.push(["tags LIKE ? ESCAPE '!'", `%${member.replaceAll(/[!%_]/g, "!$&")}%`]);
  }
  return conditions;
}
