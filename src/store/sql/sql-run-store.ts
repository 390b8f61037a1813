import { randomUUID } from "node:crypto";
import type { Clock } from "../../base/clock.ts";
import type { Host } from "../../base/host.ts";
import type { ProcessOwner } from "../../base/process-owner.ts";
import { applyLease, completedError, inUseError } from "../lease.ts";
import type { Run } from "../run.ts";
import type { RunLease, RunStore } from "../run-store.ts";
import { checkName, takenError } from "../store-error.ts";
import { livingOwner, readLastSeq, readRunRow, runValueColumns, toRun, valuesOf } from "./run-rows.ts";
import type { SqlDatabase } from "./sql-database.ts";
import { SqlRunLease } from "./sql-run-lease.ts";
import { openSqlRunSource } from "./sql-run-source.ts";
import { sweep, sweepRun } from "./sweep.ts";

/** Stores runs in SQL tables. */
export function openSqlRunStore(database: SqlDatabase, host: Host, clock: Clock): RunStore {
  return {
    ...openSqlRunSource(database, host, clock),

    async create(run, owner) {
      checkName("the id of a run", run.id);
      const lease = await create(database, run, owner);
      if (lease !== null) return lease;
      // The id may belong to a removed run whose units are still being deleted.
      await sweepRun(database, run.id);
      const second = await create(database, run, owner);
      if (second === null) throw takenError(`run ${run.id}`);
      return second;
    },

    resume: (runId, owner, { allowCompleted = false } = {}) => resume(database, host, { runId, owner, allowCompleted }),

    async remove(runId) {
      await database.write(async (session) => {
        const row = await readRunRow(session, database.dialect, runId, database.dialect.forUpdate);
        const owner = livingOwner(row, host);
        if (owner !== null) throw inUseError(runId, owner);
        await session.run("UPDATE rollout_runs SET is_removed = 1, lease_token = NULL WHERE id = ?", [runId]);
      });
      await sweep(database, host);
    },
  };
}

/** Returns null if the id is taken. */
async function create(database: SqlDatabase, run: Run, owner: ProcessOwner): Promise<RunLease | null> {
  const token = randomUUID();
  const created = await database.write((session) =>
    session.run(
      `INSERT INTO rollout_runs (id, created_at, ${runValueColumns.join(", ")}, lease_token, lease_owner,
        lease_renewed_at, last_seq, is_removed)
        VALUES (?, ?, ${runValueColumns.map(() => "?").join(", ")}, ?, ?, ${database.dialect.now}, 0, 0)
        ON CONFLICT (id) DO NOTHING`,
      [run.id, Math.trunc(run.createdAt), ...valuesOf(run), token, JSON.stringify(owner)],
    ),
  );
  return created === 0 ? null : new SqlRunLease(database, { run: applyLease(run, owner), token, lastSeq: 0 });
}

interface ResumeRequest {
  readonly runId: string;
  readonly owner: ProcessOwner;
  readonly allowCompleted: boolean;
}

async function resume(database: SqlDatabase, host: Host, request: ResumeRequest): Promise<RunLease> {
  const { runId, owner, allowCompleted } = request;
  const { dialect } = database;
  const token = randomUUID();
  return database.write(async (session) => {
    const row = await readRunRow(session, dialect, runId, dialect.forUpdate);
    const current = livingOwner(row, host);
    if (current !== null) throw inUseError(runId, current);
    const stored = toRun(row, host);
    if (!stored.isResumable && !allowCompleted) throw completedError(runId);
    const run: Run = { ...stored, status: "running", endedAt: null };
    await session.run(
      `UPDATE rollout_runs SET ${runValueColumns.map((name) => `${name} = ?`).join(", ")},
        lease_token = ?, lease_owner = ?, lease_renewed_at = ${dialect.now} WHERE id = ?`,
      [...valuesOf(run), token, JSON.stringify(owner), runId],
    );
    return new SqlRunLease(database, { run: applyLease(run, owner), token, lastSeq: await readLastSeq(session, row) });
  });
}
