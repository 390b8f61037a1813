import { lostError } from "../hold.ts";
import type { ResultBatch, RunEnd, RunHold, RunRecord } from "../run-store.ts";
import { encodeScore } from "./run-rows.ts";
import type { Insert, SqlDatabase, SqlSession, SqlValue } from "./sql-database.ts";

const results: Insert = {
  table: "rollout_results",
  columns: { run_no: "bigint", idx: "bigint", status: "text", body: "text" },
  keyLength: 2,
  onConflict: "ON CONFLICT (run_no, idx) DO UPDATE SET status = excluded.status, body = excluded.body",
};

const scores: Insert = {
  table: "rollout_scores",
  columns: { run_no: "bigint", idx: "bigint", scorer_id: "text", score: "double precision", body: "text" },
  keyLength: 3,
  onConflict: "ON CONFLICT (run_no, idx, scorer_id) DO UPDATE SET score = excluded.score, body = excluded.body",
};

const signEveryMs = 1000;

/** The right to write to a run in SQL tables: every transaction first makes sure that the token is still the run's. */
export class SqlRunHold implements RunHold {
  readonly run: RunRecord;
  readonly #database: SqlDatabase;
  readonly #runNo: number;
  readonly #token: string;
  readonly #findRow: string;
  readonly #touchRow: string;

  constructor(database: SqlDatabase, runNo: number, token: string, run: RunRecord) {
    this.run = run;
    this.#database = database;
    this.#runNo = runNo;
    this.#token = token;
    const { now, forUpdate } = database.dialect;
    this.#findRow = `SELECT ${now} - beat_at AS silent_ms FROM rollout_runs WHERE no = ? AND token = ?${forUpdate}`;
    this.#touchRow = `UPDATE rollout_runs SET beat_at = ${now} WHERE no = ? AND token = ?`;
  }

  async beat(): Promise<void> {
    await this.#database.write(async (session) => {
      if ((await session.run(this.#touchRow, [this.#runNo, this.#token])) === 0) throw lostError(this.run.id);
    });
  }

  async write(batch: ResultBatch): Promise<void> {
    const no = this.#runNo;
    // Before the transaction, so that nobody waits for it.
    const resultRows = batch.results.map((each): SqlValue[] => [no, each.index, each.status, JSON.stringify(each)]);
    const scoreRows = batch.scores.map((each): SqlValue[] => {
      return [no, each.index, each.scorerId, each.score, encodeScore(each)];
    });
    await this.#database.write(async (session) => {
      await this.#fence(session);
      if (resultRows.length > 0) await session.insert(results, resultRows);
      if (scoreRows.length > 0) await session.insert(scores, scoreRows);
    });
  }

  async forget(indexes: readonly number[]): Promise<void> {
    await this.#database.write(async (session) => {
      await this.#fence(session);
      for (const index of indexes) {
        await session.run("DELETE FROM rollout_scores WHERE run_no = ? AND idx = ?", [this.#runNo, index]);
        await session.run("DELETE FROM rollout_results WHERE run_no = ? AND idx = ?", [this.#runNo, index]);
      }
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

  // The row stays locked until the transaction is over: nobody takes the run between this and the writing.
  async #fence(session: SqlSession): Promise<void> {
    const [row] = await session.rows<{ readonly silent_ms: number }>(this.#findRow, [this.#runNo, this.#token]);
    if (!row) throw lostError(this.run.id);
    // A sign of life with every small batch would be a page more to write for each.
    if (row.silent_ms >= signEveryMs) await session.run(this.#touchRow, [this.#runNo, this.#token]);
  }
}
