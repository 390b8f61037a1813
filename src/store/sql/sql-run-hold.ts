import { lostError } from "../hold.ts";
import type { ResultBatch, ResultStatus, RunEnd, RunHold, RunRecord } from "../run-store.ts";
import { groupUnits, putOver, type StoredUnit } from "../stored-unit.ts";
import { decodeUnit, encodeUnit } from "../unit-body.ts";
import { placeOf } from "./run-rows.ts";
import type { Condition, Insert, SqlDatabase, SqlSession } from "./sql-database.ts";

const units: Insert = {
  table: "rollout_units",
  columns: { place: "bigint", status: "text", body: "text" },
  keyLength: 1,
  onConflict: "ON CONFLICT (place) DO NOTHING",
};

/** The right to write to a run in SQL tables: every transaction first makes sure that the token is still the run's. */
export class SqlRunHold implements RunHold {
  readonly run: RunRecord;
  readonly #database: SqlDatabase;
  readonly #runNo: number;
  readonly #token: string;
  readonly #isHeld: Condition;
  readonly #touchRow: string;

  constructor(database: SqlDatabase, runNo: number, token: string, run: RunRecord) {
    this.run = run;
    this.#database = database;
    this.#runNo = runNo;
    this.#token = token;
    const { now, forUpdate } = database.dialect;
    this.#isHeld = {
      sql: `SELECT 1 FROM rollout_runs WHERE no = ? AND token = ?${forUpdate}`,
      values: [runNo, token],
    };
    this.#touchRow = `UPDATE rollout_runs SET beat_at = ${now} WHERE no = ? AND token = ?`;
  }

  async beat(): Promise<void> {
    await this.#database.write(async (session) => {
      if ((await session.run(this.#touchRow, [this.#runNo, this.#token])) === 0) throw lostError(this.run.id);
    });
  }

  async write(batch: ResultBatch): Promise<void> {
    const grouped = groupUnits(batch);
    // Before the transaction, so that nobody waits for it.
    const rows = grouped.map((unit) => [placeOf(this.#runNo, unit.index), statusOf(unit), encodeUnit(unit)] as const);
    if (grouped.every(hasResult) && this.#database.tryInsert?.(units, rows, this.#isHeld)) return;
    await this.#database.write(async (session) => {
      await this.#fence(session);
      if (rows.length === 0 || (await session.insert(units, rows)) === rows.length) return;
      for (const unit of grouped) await this.#putOver(session, unit);
    });
  }

  async forget(indexes: readonly number[]): Promise<void> {
    await this.#database.write(async (session) => {
      await this.#fence(session);
      const sql = "DELETE FROM rollout_units WHERE place = ?";
      for (const index of indexes) await session.run(sql, [placeOf(this.#runNo, index)]);
    });
  }

  async end({ status, isFinished, succeeded, failed, error, summary }: RunEnd): Promise<void> {
    const word = JSON.stringify({ succeeded, failed, error, summary });
    await this.#database.write(async (session) => {
      const sql = `UPDATE rollout_runs SET status = ?, is_finished = ?, last_word = ?,
        ended_at = ${this.#database.dialect.now}, token = NULL, holder = NULL WHERE no = ? AND token = ?`;
      const changed = await session.run(sql, [status, isFinished ? 1 : 0, word, this.#runNo, this.#token]);
      if (changed === 0) throw lostError(this.run.id);
    });
  }

  async #putOver(session: SqlSession, unit: StoredUnit): Promise<void> {
    const place = placeOf(this.#runNo, unit.index);
    const find = "SELECT status, body FROM rollout_units WHERE place = ?";
    const [known] = await session.rows<{ readonly status: ResultStatus | ""; readonly body: string }>(find, [place]);
    const whole = known ? putOver(decodeUnit(unit.index, known.status || null, known.body), unit) : unit;
    const sql = "UPDATE rollout_units SET status = ?, body = ? WHERE place = ?";
    await session.run(sql, [statusOf(whole), encodeUnit(whole), place]);
  }

  // The row stays locked until the transaction is over: nobody takes the run between this and the writing. That it lives is
  // said by `beat` alone: said with every batch it would be a page more to write for each.
  async #fence(session: SqlSession): Promise<void> {
    const { sql, values } = this.#isHeld;
    if ((await session.rows(sql, values)).length === 0) throw lostError(this.run.id);
  }
}

// Others are most often about a unit that is there.
function hasResult({ result }: StoredUnit): boolean {
  return result !== null;
}

// Empty for a unit that only scorers have spoken of: it is not there yet.
function statusOf({ result }: StoredUnit): string {
  return result?.status ?? "";
}
