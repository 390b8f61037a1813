import { expect } from "vitest";
import { readHost } from "../../src/base/host.ts";
import { readOwner } from "../../src/base/process-owner.ts";
import { planRun, resultOf, scoreOf } from "../../src/store/conformance/store-case.ts";
import { open } from "./process-scenarios.ts";

const oldTables = [
  "DROP TABLE rollout_units",
  "CREATE TABLE rollout_results (run_no BIGINT, idx BIGINT, status TEXT, body TEXT)",
  "CREATE TABLE rollout_scores (no BIGINT, run_no BIGINT, idx BIGINT, scorer_id TEXT, score DOUBLE PRECISION, body TEXT)",
  "UPDATE rollout_schema SET version = 1",
];

/** A store whose scores have a table of their own is brought up to date, and says of a run what it said before. */
export async function takeOverFirstTables(location: string, run: (sql: string) => unknown): Promise<void> {
  const plan = planRun();
  {
    await using store = await open(location);
    await store.runs.begin(plan, readOwner(readHost(process)));
  }
  for (const sql of oldTables) await run(sql);
  const text = `it's "é" \u0000 \\ 世`;
  const results = [resultOf(0, { output: text, status: "failed" }), resultOf(7)];
  const scores = [
    scoreOf(0, 'a "scorer" \\', { score: 1 / 3, reason: text, extra: { text } }),
    scoreOf(0, "a", { score: null, error: text }),
  ];
  const runNo = `(SELECT no FROM rollout_runs WHERE id = '${plan.id}')`;
  const quote = (value: unknown): string => `'${String(value).replaceAll("'", "''")}'`;
  for (const result of results)
    await run(
      `INSERT INTO rollout_results VALUES (${runNo}, ${result.index}, ${quote(result.status)}, ${quote(JSON.stringify(result))})`,
    );
  for (const [no, { index, scorerId, score, ...body }] of scores.entries())
    await run(
      `INSERT INTO rollout_scores VALUES (${no}, ${runNo}, ${index}, ${quote(scorerId)}, ${score ?? "NULL"}, ${quote(JSON.stringify(body))})`,
    );
  await using store = await open(location);
  expect((await store.runs.results(plan.id, { after: null, limit: 5 })).entries).toEqual([
    { result: results[0], scores },
    { result: results[1], scores: [] },
  ]);
}
