import assert from "node:assert/strict";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { readAll } from "../read-all.ts";
import type { Unit, UnitRow } from "../run.ts";
import { unitOrders, type UnitOrder, type UnitQuery } from "../run-source.ts";
import { parseFilter } from "../filter.ts";
import { matchesUnit } from "../unit-filter.ts";
import { toUnitRow } from "../unit-row.ts";
import type { RunSourceCase, RunSourceSubject } from "./run-source-case.ts";
import { sampleFailedUnit, sampleUnit } from "./sample-run.ts";

type Query = Omit<UnitQuery, "page">;

const defaultMaxUnits = 100_000;
const maxBytesPerRow = 1_024;

function readRows({ source }: RunSourceSubject, runId: string, query: Query = {}, limit = 3): Promise<UnitRow[]> {
  return readAll<UnitRow, string>((after) => source.rows(runId, { ...query, page: { after, limit } }));
}

async function readIndexes(subject: RunSourceSubject, runId: string, query?: Query): Promise<readonly number[]> {
  return (await readRows(subject, runId, query)).map(({ index }) => index);
}

/** Units that differ in everything they can be sorted and filtered by. */
const variedUnits: readonly Unit[] = [
  sampleUnit(0, { spendUsd: null, scores: [{ name: "reward", value: 0.5 }] }),
  sampleFailedUnit(1),
  sampleUnit(2, { key: "echo/tasks/Another__1", durationSec: 9, spendUsd: 2, scores: [{ name: "reward", value: -1 }] }),
  sampleFailedUnit(3, { type: "environment_lost", cause: "infrastructure", message: "the environment was lost" }),
  sampleUnit(4, { status: "cancelled", scores: [], startedAt: 1_000, tries: 3 }),
  sampleUnit(5, { spendUsd: 0, untrusted: ["the tests were changed"], warnings: ["slow", "late"] }),
];

const sortValues: Readonly<Record<UnitOrder, (unit: Unit) => string | number | null>> = {
  index: ({ index }) => index,
  key: ({ key }) => key,
  status: ({ status }) => status,
  score: ({ scores }) => scores[0]?.value ?? null,
  started: ({ startedAt }) => startedAt,
  duration: ({ durationSec }) => durationSec,
  cost: ({ spendUsd }) => spendUsd,
  failure: ({ failure }) => failure?.type ?? null,
};

function sortedIndexes(units: readonly Unit[], by: UnitOrder, isDescending: boolean): readonly number[] {
  const valueOf = sortValues[by];
  const without = units.filter((unit) => valueOf(unit) === null);
  const sorted = units
    .filter((unit) => valueOf(unit) !== null)
    .toSorted((one, other) => {
      const [left, right] = [valueOf(one) ?? 0, valueOf(other) ?? 0];
      if (left === right) return one.index - other.index;
      return left < right === isDescending ? 1 : -1;
    });
  return [...sorted, ...without].map(({ index }) => index);
}

function shuffled(units: readonly Unit[]): readonly Unit[] {
  return [3, 0, 5, 1, 4, 2].flatMap((at) => units[at] ?? []);
}

function readHeapBytes(): number {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  collect();
  collect();
  return process.memoryUsage().heapUsed;
}

/** Units of a run: rows, pages, order, filters. */
export const unitCases: readonly RunSourceCase[] = [
  {
    title: "units and rows are returned in the order of their indexes",
    needs: [],
    async run(subject) {
      const { source, openRun, expected = (unit) => unit } = subject;
      const { id } = await openRun({ units: shuffled(variedUnits) });
      const units = variedUnits.map(expected);
      for (const limit of [1, 4, 6, 7]) {
        assert.deepEqual(await readRows(subject, id, {}, limit), units.map(toUnitRow));
        const read = await readAll<Unit, string>((after) => source.units(id, { page: { after, limit } }));
        assert.deepEqual(read, units);
      }
      for (const unit of units) assert.deepEqual(await source.unit(id, unit.key), unit);
      assert.equal(await source.unit(id, "unknown"), null);
    },
  },
  ...unitOrders.map((by): RunSourceCase => ({
    title: `units are sorted by ${by} in both directions, those without a value last`,
    needs: [],
    async run(subject) {
      const { source, openRun, expected = (unit) => unit } = subject;
      const { id } = await openRun({ units: shuffled(variedUnits) });
      const units = variedUnits.map(expected);
      for (const isDescending of [false, true]) {
        const indexes = sortedIndexes(units, by, isDescending);
        const sort = { by, isDescending };
        assert.deepEqual(await readIndexes(subject, id, { sort }), indexes);
        const all = await source.units(id, { sort, page: { after: null, limit: 9 } });
        assert.deepEqual(
          all.entries.map(({ index }) => index),
          indexes,
        );
        assert.equal(all.next, null);
      }
    },
  })),
  {
    title: "units are filtered, also together with a sort order",
    needs: [],
    async run(subject) {
      const { source, openRun, expected = (unit) => unit, dropsFields = false } = subject;
      const { id } = await openRun({ units: variedUnits });
      const cases: readonly (readonly [string, readonly number[]])[] = [
        ["status:failed", [1, 3]],
        ["-status:failed,cancelled", [0, 2, 5]],
        ["error:timeout", [1]],
        ["cause:infrastructure", [3]],
        ["reward<1", [0, 2]],
        ["task:task-1", [1]],
        ["agent:echo tries>1", [4]],
        ["untrusted:yes", [5]],
        ["-untrusted:yes cost>0.2", [1, 2, 3, 4]],
        ['"was lost"', [3]],
        ["status:none", []],
      ];
      for (const [text, all] of cases) {
        const filter = parseFilter(text);
        const kept = variedUnits.filter((unit) => matchesUnit(filter, toUnitRow(expected(unit))));
        const indexes = dropsFields ? kept.map(({ index }) => index) : all;
        assert.deepEqual(await readIndexes(subject, id, { filter }), indexes, text);
        const sort = { by: "index", isDescending: true } as const;
        const units = await readAll<Unit, string>((after) =>
          source.units(id, { filter, sort, page: { after, limit: 2 } }),
        );
        assert.deepEqual(
          units.map(({ index }) => index),
          indexes.toReversed(),
          text,
        );
      }
    },
  },
  {
    title: "a run can be read while it is written, and pages continue where they ended",
    needs: [],
    async run({ source, openRun }) {
      const run = await openRun({ units: [0, 2, 4].map((n) => sampleUnit(n)) });
      const first = await source.rows(run.id, { page: { after: null, limit: 2 } });
      await run.write([1, 3, 5].map((n) => sampleUnit(n)));
      const second = await source.rows(run.id, { page: { after: first.next, limit: 9 } });
      assert.deepEqual(
        [...first.entries, ...second.entries].map(({ index }) => index),
        [0, 2, 3, 4, 5],
      );
      assert.equal((await source.get(run.id))?.status, "running");
      await run.finish();
      const all = await source.rows(run.id, { page: { after: null, limit: 9 } });
      assert.equal(all.entries.length, 6);
    },
  },
  {
    title: "a unit that is written again is returned with its new content",
    needs: ["rewrites"],
    async run(subject) {
      const { source, openRun, expected = (unit) => unit } = subject;
      const run = await openRun({ units: [sampleFailedUnit(0), sampleUnit(1)] });
      assert.deepEqual(await readIndexes(subject, run.id, { filter: parseFilter("status:failed") }), [0]);
      const again = sampleUnit(0, { tries: 2 });
      await run.write([again]);
      assert.deepEqual(await source.unit(run.id, again.key), expected(again));
      assert.deepEqual(await readIndexes(subject, run.id, { filter: parseFilter("status:failed") }), []);
      assert.deepEqual(await readIndexes(subject, run.id), [0, 1]);
    },
  },
  {
    title: "100,000 units are read by pages with at most 1 KB of memory for each",
    needs: [],
    isSlow: true,
    async run(subject) {
      const { maxUnits = defaultMaxUnits, openRun } = subject;
      const run = await openRun();
      for (let from = 0; from < maxUnits; from += 10_000) {
        const count = Math.min(10_000, maxUnits - from);
        await run.write(Array.from({ length: count }, (_, n) => sampleUnit(from + n)));
      }
      await run.finish();
      const before = readHeapBytes();
      const rows = await readRows(subject, run.id, {}, 500);
      const bytes = readHeapBytes() - before;
      assert.equal(rows.length, maxUnits);
      assert.ok(rows.every(({ index }, at) => index === at));
      assert.ok(bytes < maxUnits * maxBytesPerRow, `${Math.round(bytes / maxUnits)} bytes per row`);
      const filter = parseFilter(`key:*task-${maxUnits - 1}_*`);
      assert.deepEqual(await readIndexes(subject, run.id, { filter, sort: { by: "cost" } }), [maxUnits - 1]);
    },
  },
];
