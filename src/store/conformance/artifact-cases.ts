import assert from "node:assert/strict";
import type { Json } from "../../base/json.ts";
import type { ArtifactContent } from "../run-source.ts";
import type { RunSourceCase } from "./run-source-case.ts";
import { sampleUnit } from "./sample-run.ts";
import { hasCode } from "./store-case.ts";

const maxValueBytes = 64 * 1024;

async function readBytes(found: ArtifactContent | null): Promise<Buffer> {
  assert.ok(found);
  const chunks: Uint8Array[] = [];
  for await (const chunk of found.content) chunks.push(chunk);
  return Buffer.concat(chunks);
}

/** Values of which some are too large to be returned with a unit. */
const largeInput: Json = { text: "é世😀".repeat(20_000) };
const largeOutput: Json = "x".repeat(maxValueBytes);
// With its quotes as large as a value can be.
const smallExpected: Json = "x".repeat(maxValueBytes - 2);
const unit = sampleUnit(0, { input: largeInput, expected: smallExpected, output: largeOutput });

/** Large values and files of units. */
export const artifactCases: readonly RunSourceCase[] = [
  {
    title: "values over 64 KB are cut, and the unit names the artifacts that contain them",
    needs: ["values"],
    async run({ source, openRun, expected = (each) => each }) {
      const { id } = await openRun({ units: [unit] });
      const read = await source.unit(id, unit.key);
      const json = JSON.stringify(largeInput);
      assert.deepEqual(read?.truncated, [
        { field: "input", bytes: Buffer.byteLength(json), artifact: "input.json" },
        { field: "output", bytes: maxValueBytes + 2, artifact: "output.json" },
      ]);
      assert.deepEqual(read.expected, smallExpected);
      assert.ok(typeof read.input === "string" && json.startsWith(read.input));
      const bytes = Buffer.byteLength(read.input);
      assert.ok(bytes <= maxValueBytes && bytes > maxValueBytes - 4);
      assert.equal(read.output, JSON.stringify(largeOutput).slice(0, maxValueBytes));
      const { entries } = await source.units(id, { page: { after: null, limit: 1 } });
      assert.deepEqual(entries, [expected(unit)]);
    },
  },
  {
    title: "a unit without large values is returned as it is and has no artifacts for them",
    needs: ["values"],
    async run({ source, openRun, expected = (each) => each }) {
      const small = sampleUnit(0);
      const { id } = await openRun({ units: [small] });
      assert.deepEqual(await source.unit(id, small.key), expected(small));
      assert.deepEqual(await source.artifacts(id, small.key), expected(small).artifacts);
      assert.equal(await source.artifact(id, small.key, "output.json"), null);
    },
  },
  {
    title: "artifacts of cut values are listed and read completely or in part",
    needs: ["values"],
    async run({ source, openRun }) {
      const { id } = await openRun({ units: [unit] });
      const all = Buffer.from(JSON.stringify(largeInput));
      const input = { name: "input.json", size: all.length, mediaType: "application/json" };
      const output = { name: "output.json", size: maxValueBytes + 2, mediaType: "application/json" };
      assert.deepEqual(await source.artifacts(id, unit.key), [input, output]);
      assert.deepEqual(await source.artifacts(id, "unknown"), []);
      const content = await source.artifact(id, unit.key, "input.json");
      assert.deepEqual([content?.artifact, content?.start], [input, 0]);
      assert.ok((await readBytes(content)).equals(all));
      for (const [range, start, end] of [
        [{ start: 10 }, 10, all.length],
        [{ start: 10, end: 20 }, 10, 20],
        [{ start: 10, end: 10 }, 10, 10],
        [{ start: 10, end: all.length + 5 }, 10, all.length],
        [{ start: all.length }, all.length, all.length],
        [{ last: 7 }, all.length - 7, all.length],
        [{ last: all.length + 7 }, 0, all.length],
      ] as const) {
        const part = await source.artifact(id, unit.key, "input.json", range);
        assert.equal(part?.start, start);
        assert.ok((await readBytes(part)).equals(all.subarray(start, end)));
      }
    },
  },
  {
    title: "a range past the end is refused, and names that are not listed are unknown",
    needs: ["values"],
    async run({ source, openRun }) {
      const { id } = await openRun({ units: [unit] });
      const size = Buffer.byteLength(JSON.stringify(largeInput));
      for (const range of [{ start: size + 1 }, { start: -1 }, { start: 5, end: 4 }, { start: 0.5 }, { last: -1 }])
        await assert.rejects(source.artifact(id, unit.key, "input.json", range), hasCode("range_invalid"));
      for (const name of ["expected.json", "", "../input.json", "/etc/passwd", "input"])
        assert.equal(await source.artifact(id, unit.key, name), null);
      assert.equal(await source.artifact(id, "unknown", "input.json"), null);
    },
  },
];
