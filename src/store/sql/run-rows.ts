import type { Host } from "../../base/host.ts";
import { parseOwner, type ProcessOwner } from "../../base/process-owner.ts";
import { applyLease, isLeaseAlive } from "../lease.ts";
import type { Run } from "../run.ts";
import { unknownError } from "../store-error.ts";
import type { SqlDialect, SqlSession, SqlValue } from "./sql-database.ts";

export interface RunRow {
  readonly id: string;
  readonly created_at: number;
  readonly run: string;
  readonly lease_owner: string | null;
  /** The time since the lease was renewed. */
  readonly lease_age_ms: number;
  readonly last_seq: number;
}

export function runColumns({ now }: SqlDialect): string {
  return `id, created_at, run, lease_owner, ${now} - lease_renewed_at AS lease_age_ms, last_seq`;
}

/** Returns the row of a run. Rejects with `not_found` if there is none. */
export async function readRunRow(session: SqlSession, dialect: SqlDialect, id: string, lock = ""): Promise<RunRow> {
  const sql = `SELECT ${runColumns(dialect)} FROM rollout_runs WHERE id = ? AND is_removed = 0${lock}`;
  const [row] = await session.rows<RunRow>(sql, [id]);
  if (!row) throw unknownError("run", id);
  return row;
}

/** Rejects with `not_found` if there is no such run. */
export async function checkRun(session: SqlSession, id: string): Promise<void> {
  const rows = await session.rows("SELECT 1 FROM rollout_runs WHERE id = ? AND is_removed = 0", [id]);
  if (rows.length === 0) throw unknownError("run", id);
}

/** Returns the highest number given to a unit of the run. The run's row counts those of removed units. */
export async function readLastSeq(session: SqlSession, { id, last_seq }: RunRow): Promise<number> {
  const sql = "SELECT max(seq) AS seq FROM rollout_units WHERE run_id = ?";
  const [row] = await session.rows<{ seq: number | null }>(sql, [id]);
  return Math.max(last_seq, row?.seq ?? 0);
}

/** Columns of `rollout_runs` that a run sets, in the order of `valuesOf`. */
export const runValueColumns = ["kind", "name", "status", "dataset_id", "tags", "run"] as const;

export function valuesOf(run: Run): readonly SqlValue[] {
  // A run has at most one dataset of the store.
  const datasetId = run.datasets.find(({ id }) => id !== null)?.id ?? null;
  return [run.kind, run.name, run.status, datasetId, JSON.stringify(run.tags), JSON.stringify(run)];
}

export function livingOwner({ lease_owner, lease_age_ms }: RunRow, host: Host): ProcessOwner | null {
  const owner = lease_owner === null ? null : parseOwner(lease_owner);
  return owner !== null && isLeaseAlive(owner, host, lease_age_ms) ? owner : null;
}

export function toRun(row: RunRow, host: Host): Run {
  return applyLease(JSON.parse(row.run) as Run, livingOwner(row, host));
}
