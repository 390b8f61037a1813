import type { Host } from "../../base/host.ts";
import { parseOwner } from "../../base/process-owner.ts";
import { isHolderAlive } from "../hold.ts";
import type { ResultStatus, RunEnd, RunPlan, RunRecord, StoredRunStatus } from "../run-store.ts";
import { unknownError } from "../store-error.ts";
import type { SqlDialect, SqlSession } from "./sql-database.ts";

export interface RunRow {
  readonly no: number;
  readonly plan: string;
  readonly status: StoredRunStatus;
  readonly is_finished: number;
  readonly last_word: string | null;
  readonly holder: string | null;
  readonly created_at: number;
  readonly ended_at: number | null;
  /** How long ago the holder gave its last sign. */
  readonly silent_ms: number;
}

export interface UnitRow {
  readonly idx: number;
  readonly status: ResultStatus;
  readonly body: string;
}

// So many places each run has; the rest of 63 bits counts runs.
const placesOfRun = 2n ** 32n;

/** Where a unit stands in the table of all: one number as the only key, so that one small commit touches one page. */
export function placeOf(runNo: number, index: number): bigint {
  return BigInt(runNo) * placesOfRun + BigInt(index);
}

/** The index that a row's place tells, in SQL. */
export const indexOfPlace = `(place & ${placesOfRun - 1n})`;

export function runColumns({ now }: SqlDialect): string {
  return `no, plan, status, is_finished, last_word, holder, created_at, ended_at, ${now} - beat_at AS silent_ms`;
}

/** The row of a run; rejects with `not_found` when there is none. */
export async function runRow(session: SqlSession, dialect: SqlDialect, id: string, lock = ""): Promise<RunRow> {
  const sql = `SELECT ${runColumns(dialect)} FROM rollout_runs WHERE id = ? AND is_removed = 0${lock}`;
  const [row] = await session.rows<RunRow>(sql, [id]);
  if (!row) throw unknownError("run", id);
  return row;
}

const noWord: Omit<RunEnd, "status" | "isFinished"> = { succeeded: 0, failed: 0, error: null, summary: null };

export function toRun(row: RunRow, host: Host): RunRecord {
  const holder = row.holder === null ? null : parseOwner(row.holder);
  const word = row.last_word === null ? noWord : (JSON.parse(row.last_word) as typeof noWord);
  return {
    ...(JSON.parse(row.plan) as RunPlan),
    ...word,
    status: row.status,
    isFinished: row.is_finished === 1,
    isHeld: holder !== null && isHolderAlive(holder, host, row.silent_ms),
    holder,
    createdAt: row.created_at,
    endedAt: row.ended_at,
  };
}
