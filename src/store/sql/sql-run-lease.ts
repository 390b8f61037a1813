import { setImmediate } from "node:timers/promises";
import { lostLeaseError } from "../lease.ts";
import { mainScoreOf } from "../page-rows.ts";
import type { Run, Unit } from "../run.ts";
import type { RunLease } from "../run-store.ts";
import { toUnitRow, toUnitTexts } from "../unit-row.ts";
import { runValueColumns, valuesOf } from "./run-rows.ts";
import type { Insert, SqlDatabase, SqlSession, SqlValue } from "./sql-database.ts";

const columns: Insert["columns"] = {
  run_id: "text",
  idx: "bigint",
  key: "text",
  status: "text",
  score: "double precision",
  started_at: "bigint",
  duration_sec: "double precision",
  spend_usd: "double precision",
  failure_type: "text",
  '"row"': "text",
  body: "text",
  seq: "bigint",
};

const unitInsert: Insert = {
  table: "rollout_units",
  columns,
  keyLength: 2,
  onConflict: `ON CONFLICT (run_id, idx) DO UPDATE SET ${Object.keys(columns)
    .slice(2)
    .map((name) => `${name} = excluded.${name}`)
    .join(", ")}`,
};

// SQLite works in this thread: after so many rows, other work gets its turn.
const rowsPerTurn = 500;

export interface LeaseFacts {
  readonly run: Run;
  readonly token: string;
  /** The highest number given to a unit of the run. */
  readonly lastSeq: number;
}

/** A lease of a run in SQL tables. Every transaction first checks that the token is still the run's. */
export class SqlRunLease implements RunLease {
  readonly run: Run;
  readonly #database: SqlDatabase;
  readonly #token: string;
  readonly #setRun = runValueColumns.map((name) => `${name} = ?`).join(", ");
  #lastSeq: number;

  constructor(database: SqlDatabase, { run, token, lastSeq }: LeaseFacts) {
    this.run = run;
    this.#database = database;
    this.#token = token;
    this.#lastSeq = lastSeq;
  }

  async renew(run?: Run): Promise<void> {
    const renewal = `lease_renewed_at = ${this.#database.dialect.now}`;
    const [set, values] = run === undefined ? [renewal, []] : [`${this.#setRun}, ${renewal}`, valuesOf(run)];
    await this.#database.write((session) => this.#update(session, set, values));
  }

  async write(units: readonly Unit[]): Promise<void> {
    // Before the transaction, to keep it short.
    const rows = units.map((unit) => this.#encode(unit));
    await this.#database.write(async (session) => {
      await this.#lock(session);
      // Numbers are given while the run is locked, so that they become visible in their order.
      const numbered = rows.map((row) => [...row, ++this.#lastSeq]);
      for (let from = 0; from < numbered.length; from += rowsPerTurn) {
        if (from > 0) await setImmediate();
        await session.insert(unitInsert, numbered.slice(from, from + rowsPerTurn));
      }
    });
  }

  async remove(indexes: readonly number[]): Promise<void> {
    await this.#database.write(async (session) => {
      await this.#lock(session);
      // A number is never given again, or readers that follow the run would miss a unit.
      await this.#update(session, "last_seq = ?", [this.#lastSeq]);
      const sql = `DELETE FROM rollout_units WHERE run_id = ? AND idx IN (${this.#database.dialect.integers})`;
      await session.run(sql, [this.run.id, JSON.stringify(indexes)]);
    });
  }

  async end(run: Run): Promise<void> {
    const set = `${this.#setRun}, lease_token = NULL, lease_owner = NULL`;
    await this.#database.write((session) => this.#update(session, set, valuesOf(run)));
  }

  async #update(session: SqlSession, set: string, values: readonly SqlValue[]): Promise<void> {
    const sql = `UPDATE rollout_runs SET ${set} WHERE id = ? AND lease_token = ?`;
    if ((await session.run(sql, [...values, this.run.id, this.#token])) === 0) throw lostLeaseError(this.run.id);
  }

  // The lock lasts until the end of the transaction, so that no process takes the run over in between. Writing units does not
  // renew the lease: that would write the row of the run with every group of units.
  async #lock(session: SqlSession): Promise<void> {
    const { forUpdate } = this.#database.dialect;
    const sql = `SELECT 1 FROM rollout_runs WHERE id = ? AND lease_token = ?${forUpdate}`;
    if ((await session.rows(sql, [this.run.id, this.#token])).length === 0) throw lostLeaseError(this.run.id);
  }

  #encode(unit: Unit): readonly SqlValue[] {
    const row = toUnitRow(unit);
    return [
      this.run.id,
      unit.index,
      unit.key,
      unit.status,
      finiteOrNull(mainScoreOf(row, this.run.shape.scoreName)),
      Math.trunc(unit.startedAt),
      unit.durationSec,
      finiteOrNull(unit.spendUsd),
      unit.failure?.type ?? null,
      JSON.stringify(row),
      JSON.stringify(toUnitTexts(unit)),
    ];
  }
}

// JSON has no other numbers, and a column must agree with the row beside it.
function finiteOrNull(value: number | null): number | null {
  return value !== null && Number.isFinite(value) ? value : null;
}
