import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { readAll } from "../read-all.ts";
import type { Run } from "../run.ts";
import type { RunFilter } from "../run-source.ts";
import type { RunSourceCase, RunSourceSubject } from "./run-source-case.ts";
import { sampleUnit } from "./sample-run.ts";
import { hasCode } from "./store-case.ts";

function listAll({ source }: RunSourceSubject, filter: RunFilter = {}, limit = 2): Promise<Run[]> {
  return readAll<Run, string>((after) => source.list(filter, { after, limit }));
}

async function listIds(subject: RunSourceSubject, filter?: RunFilter, limit?: number): Promise<readonly string[]> {
  return (await listAll(subject, filter, limit)).map(({ id }) => id);
}

/** Lists and single runs. */
export const listCases: readonly RunSourceCase[] = [
  {
    title: "a run that is being written is running and has an owner",
    needs: [],
    async run({ source, openRun }) {
      const { id } = await openRun({ units: [sampleUnit(0)] });
      const run = await source.get(id);
      assert.equal(run?.id, id);
      assert.equal(run.status, "running");
      assert.ok((run.owner?.pid ?? 0) > 0);
      assert.equal(await source.get("unknown"), null);
    },
  },
  {
    title: "a run that ended has its status and no owner",
    needs: [],
    async run({ source, openRun }) {
      const [done, stopped] = [await openRun(), await openRun()];
      await done.finish();
      await stopped.finish("cancelled");
      const [first, second] = [await source.get(done.id), await source.get(stopped.id)];
      assert.deepEqual([first?.status, first?.owner], ["completed", null]);
      assert.deepEqual([second?.status, second?.owner], ["cancelled", null]);
    },
  },
  {
    title: "a run whose process was killed is interrupted, has no owner and can be resumed",
    needs: [],
    async run(subject) {
      const run = await subject.openRun({ units: [sampleUnit(0)] });
      await run.kill();
      const stored = await subject.source.get(run.id);
      assert.deepEqual([stored?.status, stored?.owner, stored?.isResumable], ["interrupted", null, true]);
      assert.ok((await listIds(subject, { status: "interrupted" }, 50)).includes(run.id));
      assert.ok(!(await listIds(subject, { status: "running" }, 50)).includes(run.id));
      const { entries } = await subject.source.rows(run.id, { page: { after: null, limit: 5 } });
      assert.equal(entries.length, 1);
    },
  },
  {
    title: "runs are listed newest first, in pages without a gap or a double",
    needs: ["run_facts"],
    async run(subject) {
      const name = `listed ${randomUUID()}`;
      const times = [3_000, 1_000, 2_000, 2_000, 5_000, 4_000];
      const ids = new Map<string, number>();
      for (const createdAt of times) ids.set((await subject.openRun({ run: { name, createdAt } })).id, createdAt);
      for (const limit of [1, 2, 5, 6, 7]) {
        const listed = await listIds(subject, { name }, limit);
        assert.deepEqual(
          listed.map((id) => ids.get(id)),
          times.toSorted((one, other) => other - one),
        );
        assert.equal(new Set(listed).size, times.length);
      }
      const everything = await listAll(subject, {}, 50);
      const sorted = everything.toSorted((one, other) => other.createdAt - one.createdAt);
      assert.deepEqual(
        everything.map(({ createdAt }) => createdAt),
        sorted.map(({ createdAt }) => createdAt),
      );
    },
  },
  {
    title: "a page continues where the one before ended, although a new run was created meanwhile",
    needs: ["run_facts"],
    async run({ source, openRun }) {
      const name = `growing ${randomUUID()}`;
      const made = [];
      for (let n = 0; n < 4; n++) made.push((await openRun({ run: { name, createdAt: 1_000 + n } })).id);
      const first = await source.list({ name }, { after: null, limit: 2 });
      await openRun({ run: { name, createdAt: 9_000 } });
      const second = await source.list({ name }, { after: first.next, limit: 2 });
      assert.deepEqual(
        [...first.entries, ...second.entries].map(({ id }) => id),
        made.toReversed(),
      );
      assert.equal(second.next, null);
    },
  },
  {
    title: "lists are filtered by name, tags, time, text and status",
    needs: ["run_facts"],
    async run(subject) {
      const stem = randomUUID();
      const tag = { team: `it's "${stem}" 100%_!`, other: "x" };
      const one = await subject.openRun({ run: { name: `${stem} one`, tags: tag, createdAt: 1_000 } });
      const two = await subject.openRun({
        run: { name: `${stem} two`, tags: { team: stem }, createdAt: 2_000, targets: [`Agent-${stem}`] },
      });
      await two.finish();
      const cases: readonly (readonly [RunFilter, readonly string[]])[] = [
        [{ name: `${stem} one` }, [one.id]],
        [{ name: stem }, []],
        [{ tags: tag }, [one.id]],
        [{ tags: { team: stem } }, [two.id]],
        [{ tags: { team: stem, other: "x" } }, []],
        [{ text: `${stem} TWO` }, [two.id]],
        [{ text: `agent-${stem.slice(0, 12)}` }, [two.id]],
        [{ text: one.id.slice(1).toUpperCase() }, [one.id]],
        [{ text: stem }, [two.id, one.id]],
        [{ text: stem, since: 2_000 }, [two.id]],
        [{ text: stem, since: 2_001 }, []],
        [{ text: stem, status: "running" }, [one.id]],
        [{ text: stem, status: "completed" }, [two.id]],
        [{ text: stem, status: "interrupted" }, []],
      ];
      for (const [filter, ids] of cases) assert.deepEqual(await listIds(subject, filter), ids, JSON.stringify(filter));
      const { kind } = (await subject.source.get(one.id)) ?? {};
      assert.deepEqual(await listIds(subject, { kind, text: stem }), [two.id, one.id]);
      const otherKind = kind === "job" ? "dataset" : "job";
      assert.deepEqual(await listIds(subject, { kind: otherKind, text: stem }), []);
    },
  },
  {
    title: "an unknown run, a limit below 1 and a position of another list are refused",
    needs: [],
    async run({ source, openRun }) {
      const { id } = await openRun({ units: [0, 1].map((n) => sampleUnit(n)) });
      const page = { after: null, limit: 1 };
      for (const call of [
        () => source.rows("unknown", { page }),
        () => source.units("unknown", { page }),
        () => source.unit("unknown", "key"),
        () => source.artifacts("unknown", "key"),
        () => source.artifact("unknown", "key", "name"),
      ])
        await assert.rejects(async () => call(), hasCode("not_found"));
      const { next } = await source.rows(id, { page });
      for (const call of [
        () => source.list({}, { after: null, limit: 0 }),
        () => source.list({}, { after: "x", limit: 1 }),
        () => source.rows(id, { page: { after: null, limit: 0 } }),
        () => source.rows(id, { page: { after: "x", limit: 1 } }),
        () => source.rows(id, { page: { after: next, limit: 1 }, sort: { by: "key" } }),
        () => source.units(id, { page: { after: next, limit: 1 }, sort: { by: "index", isDescending: true } }),
      ])
        await assert.rejects(async () => call(), hasCode("usage_invalid"));
    },
  },
];
