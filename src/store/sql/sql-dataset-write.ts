import { randomUUID } from "node:crypto";
import type { Host } from "../../base/host.ts";
import { readOwner } from "../../base/process-owner.ts";
import type { DatasetVersion, DatasetWrite, NewItem, WriteWish } from "../dataset-store.ts";
import { encodeItem } from "../item-body.ts";
import { checkName, lostWriteError } from "../store-error.ts";
import { commitWrite } from "./commit-write.ts";
import { datasetRow, draft, insertDataset } from "./dataset-rows.ts";
import type { Insert, SqlDatabase, SqlSession, SqlValue } from "./sql-database.ts";
import { sweep, sweepWrite } from "./sweep.ts";

const staged: Insert = {
  table: "rollout_staged",
  columns: { write_no: "bigint", item_id: "text", seq: "bigint", body: "text" },
  keyLength: 2,
  onConflict: "ON CONFLICT (write_no, item_id) DO UPDATE SET body = excluded.body",
};

// Rows in one transaction: few enough that nobody waits for it.
const rowsAtOnce = 1_000;

/** Opens a write whose items are staged beside the dataset until they are committed. */
export async function openSqlWrite(database: SqlDatabase, host: Host, wish: WriteWish): Promise<DatasetWrite> {
  if (typeof wish.datasetId !== "string") checkName("the name of a dataset", wish.datasetId.name);
  await sweep(database, host);
  const { dialect } = database;
  const owner = JSON.stringify(readOwner(host));
  const writeNo = await database.write(async (session) => {
    const { datasetId } = wish;
    const dataset =
      typeof datasetId === "string"
        ? await datasetRow(session, datasetId)
        : await insertDataset(session, dialect, datasetId, draft);
    const [row] = await session.rows<{ no: number }>(
      `INSERT INTO rollout_writes (dataset_no, owner, is_over, beat_at) VALUES (?, ?, 0, ${dialect.now}) RETURNING no`,
      [dataset?.no ?? null, owner],
    );
    return row?.no ?? 0;
  });
  return new SqlDatasetWrite(database, writeNo, wish);
}

class SqlDatasetWrite implements DatasetWrite {
  readonly #database: SqlDatabase;
  readonly #writeNo: number;
  readonly #wish: WriteWish;
  #seq = 0;
  #isOver = false;

  constructor(database: SqlDatabase, writeNo: number, wish: WriteWish) {
    this.#database = database;
    this.#writeNo = writeNo;
    this.#wish = wish;
  }

  async put(items: readonly NewItem[]): Promise<void> {
    const rows = items.map((item): SqlValue[] => {
      if (item.id !== undefined) checkName("the id of an item", item.id);
      return [this.#writeNo, item.id ?? randomUUID(), ++this.#seq, encodeItem(item)];
    });
    await this.#stage(rows);
  }

  async remove(itemIds: readonly string[]): Promise<void> {
    await this.#stage(itemIds.map((id) => [this.#writeNo, id, ++this.#seq, null]));
  }

  async commit(): Promise<DatasetVersion> {
    const version = await commitWrite(this.#database, this.#writeNo, this.#seq, this.#wish);
    this.#isOver = true;
    await this.#clean();
    return version;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#isOver) return;
    this.#isOver = true;
    await this.#clean();
  }

  async #stage(rows: readonly (readonly SqlValue[])[]): Promise<void> {
    for (let from = 0; from < rows.length; from += rowsAtOnce) {
      await this.#database.write(async (session) => {
        await beat(session, this.#database, this.#writeNo);
        await session.insert(staged, rows.slice(from, from + rowsAtOnce));
      });
    }
  }

  // What cannot be removed now is removed by the next write: nobody sees it, and a committed version stands without it.
  #clean(): Promise<void> {
    return sweepWrite(this.#database, this.#writeNo).catch(() => {});
  }
}

async function beat(session: SqlSession, { dialect }: SqlDatabase, writeNo: number): Promise<void> {
  const sql = `UPDATE rollout_writes SET beat_at = ${dialect.now} WHERE no = ? AND is_over = 0`;
  if ((await session.run(sql, [writeNo])) === 0) throw lostWriteError();
}
