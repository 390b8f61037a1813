import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { systemClock } from "../../base/clock.ts";
import { readHost } from "../../base/host.ts";
import { formatProblem } from "../../base/problem.ts";
import type { RolloutError } from "../../base/rollout-error.ts";
import { openMemoryStore } from "../../store/memory/open-memory-store.ts";
import type { Store } from "../../store/store.ts";
import { createDataset, updateDataset } from "./create-dataset.ts";
import { exportDataset } from "./export-dataset.ts";
import { importDataset } from "./import-dataset.ts";
import { diffVersions, readItems } from "./read-items.ts";
import { writeItems } from "./write-items.ts";

const { signal } = new AbortController();
let store: Store;
let dir: string;
beforeEach(() => {
  store = openMemoryStore({ host: readHost(process), clock: systemClock });
  dir = mkdtempSync(join(tmpdir(), "rollout-dataset-"));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

const write = (name: string, text: string | Uint8Array): string => {
  writeFileSync(join(dir, name), text);
  return join(dir, name);
};
const inputs = (dataset: string, version?: number): Promise<unknown[]> =>
  Array.fromAsync(readItems({ store, dataset, version, signal }), ({ id, input }) => [id, input]);
const problemsOf = async (work: Promise<unknown>): Promise<string[]> => {
  const error = await work.then(
    () => expect.fail("it was accepted"),
    (thrown: RolloutError) => thrown,
  );
  return error.problems.map((problem) => formatProblem(problem).replaceAll(`${dir}/`, ""));
};

describe("items given in code", () => {
  beforeEach(() => createDataset({ store, name: "d" }));

  test("are one version, and every version stays readable", async () => {
    await writeItems({
      store,
      dataset: "d",
      put: [
        { id: "a", input: 1 },
        { id: "b", input: 1 },
      ],
      signal,
    });
    await writeItems({ store, dataset: "d", put: [{ id: "b", input: 2 }], remove: ["a"], note: "n", signal });
    expect(await inputs("d")).toEqual([["b", 2]]);
    expect(await inputs("d", 1)).toEqual([
      ["a", 1],
      ["b", 1],
    ]);
    const changes = await Array.fromAsync(diffVersions({ store, dataset: "d", signal }));
    expect(changes.map(({ id, before, after }) => [id, before?.input, after?.input])).toEqual([
      ["a", 1, undefined],
      ["b", 1, 2],
    ]);
  });

  test("may be a stream of any length", async () => {
    async function* many() {
      for (let n = 0; n < 1_777; n++) yield { input: n };
    }
    expect((await writeItems({ store, dataset: "d", put: many(), signal })).itemCount).toBe(1_777);
  });

  test("that JSON cannot hold are refused with their paths, all at once, and nothing is written", async () => {
    const put = [
      { input: { when: new Date(0) } },
      { input: 1, metadata: { n: NaN } },
      { input: 1, expectd: 2 },
      { id: "", input: 1, scorerIds: "x" },
      { input: undefined },
      7,
    ] as never[];
    expect(await problemsOf(writeItems({ store, dataset: "d", put, signal }))).toEqual([
      expect.stringMatching(/^items \[0\]\.input\.when: a Date/),
      expect.stringMatching(/^items \[1\]\.metadata\.n: NaN/),
      expect.stringMatching(/^items \[2\]\.expectd: unknown key/),
      expect.stringMatching(/^items \[3\]\.id: /),
      expect.stringMatching(/^items \[3\]\.scorerIds: /),
      expect.stringMatching(/^items \[4\]\.input: undefined/),
      expect.stringMatching(/^items \[5\]: an item is an object/),
    ]);
    expect((await store.datasets.find("d"))?.version).toBe(0);
  });

  test("of an unknown dataset are refused, with the name that was meant", async () => {
    await createDataset({ store, name: "questions" });
    await expect(writeItems({ store, dataset: "questons", signal })).rejects.toMatchObject({
      code: "not_found",
      message: expect.stringContaining('did you mean "questions"'),
    });
  });

  test("a cancelled write leaves nothing", async () => {
    const controller = new AbortController();
    async function* many() {
      for (let n = 0; n < 5_000; n++) {
        if (n === 1_200) controller.abort(new Error("enough"));
        yield { input: n };
      }
    }
    await expect(writeItems({ store, dataset: "d", put: many(), signal: controller.signal })).rejects.toThrow("enough");
    expect((await store.datasets.find("d"))?.version).toBe(0);
  });
});

describe("schemas", () => {
  const inputSchema = {
    type: "object",
    properties: { q: { type: "string", minLength: 2 }, tags: { type: "array", items: { enum: ["a", "b"] } } },
    required: ["q"],
    additionalProperties: false,
  };

  test("refuse what does not meet them, with path and line", async () => {
    await createDataset({ store, name: "d", inputSchema, expectedOutputSchema: { type: "number" } });
    const file = write(
      "x.jsonl",
      '{"input":{"q":"ok"},"expected_output":1}\n\n{"input":{"q":"x","tags":["a","c"]}}\n{"input":{"z":1},"expectedOutput":"1"}\n',
    );
    expect(await problemsOf(importDataset({ store, dataset: "d", from: file, signal }))).toEqual([
      expect.stringMatching(/^x\.jsonl:3:1 input\.q: must NOT have fewer than 2/),
      expect.stringMatching(/^x\.jsonl:3:1 input\.tags\[1\]: must be one of \["a","b"\]/),
      expect.stringMatching(/^x\.jsonl:4:1 input: must have required property 'q'/),
      expect.stringMatching(/^x\.jsonl:4:1 input: unknown key "z"/),
      expect.stringMatching(/^x\.jsonl:4:1 expectedOutput: must be number/),
    ]);
    expect((await store.datasets.find("d"))?.version).toBe(0);
  });

  test("that are none are refused, and so is one that the items at hand do not meet", async () => {
    await expect(createDataset({ store, name: "d", inputSchema: { type: "strin" } })).rejects.toMatchObject({
      code: "config_invalid",
    });
    await createDataset({ store, name: "d" });
    await writeItems({ store, dataset: "d", put: [{ id: "n", input: 1 }], signal });
    expect(await problemsOf(updateDataset({ store, dataset: "d", inputSchema: { type: "string" }, signal }))).toEqual([
      'item "n" input: must be string',
    ]);
    expect((await updateDataset({ store, dataset: "d", inputSchema: { type: "number" }, signal })).inputSchema).toEqual(
      {
        type: "number",
      },
    );
  });
});

describe("a file", () => {
  test("makes the dataset, and imported again it makes no version", async () => {
    const from = write("x.jsonl", '{"input":"a"}\n{"input":"b","id":"own"}\n');
    const first = await importDataset({ store, dataset: "d", from, signal });
    expect([first.version.version, first.read, first.isNew]).toEqual([1, 2, true]);
    expect(await inputs("d")).toEqual([
      ["1", "a"],
      ["own", "b"],
    ]);
    expect((await importDataset({ store, dataset: "d", from, signal })).isNew).toBe(false);
  });

  test("replaces what was there, or is merged into it", async () => {
    await importDataset({
      store,
      dataset: "d",
      from: write("x.json", '[{"id":"a","input":1},{"id":"b","input":1}]'),
      signal,
    });
    const from = write("y.csv", "id,input\nb,2\nc,2\n");
    const merged = await importDataset({ store, dataset: "d", from, mode: "merge", signal });
    expect([merged.version.added, merged.version.changed, merged.version.removed]).toEqual([1, 1, 0]);
    const replaced = await importDataset({ store, dataset: "d", from, signal });
    expect([replaced.version.added, replaced.version.changed, replaced.version.removed]).toEqual([0, 0, 1]);
  });

  test("that is broken is told line by line, and neither a dataset nor a version is left of it", async () => {
    const from = write("x.jsonl", '{"input":1}\n{"input":1,}\n{"inptu":1}\n[1]\n');
    expect(await problemsOf(importDataset({ store, dataset: "d", from, signal }))).toEqual([
      'x.jsonl:2:12 a "," before "}" has nothing behind it',
      expect.stringMatching(/^x\.jsonl:3:1 there is no `input`/),
      expect.stringMatching(/^x\.jsonl:3:1 inptu: unknown key; did you mean "input"/),
      expect.stringMatching(/^x\.jsonl:4:1 expected an object/),
    ]);
    expect(await store.datasets.find("d")).toBeNull();
  });

  test("without items is refused, and so is an empty id or a name like a version", async () => {
    for (const [name, text] of [
      ["x.jsonl", "\n"],
      ["x.json", "[]"],
      ["x.csv", "id,input\n"],
    ] as const) {
      const refused = problemsOf(importDataset({ store, dataset: "d", from: write(name, text), signal }));
      expect(await refused).toEqual([`${name} there are no items in it`]);
    }
    const from = write("y.jsonl", '{"id":"","input":1}\n');
    expect(await problemsOf(importDataset({ store, dataset: "d", from, signal }))).toEqual([
      "y.jsonl:1:1 id: must be a text that is not empty",
    ]);
    await expect(createDataset({ store, name: "d@3" })).rejects.toMatchObject({ code: "config_invalid" });
    expect(await store.datasets.find("d")).toBeNull();
  });

  test("and others that are imported at the same moment make one dataset of them all", async () => {
    const names = ["1", "2", "3", "4"];
    const imports = names.map((id) => {
      const from = write(`${id}.jsonl`, `{"id":"${id}","input":1}\n`);
      return importDataset({ store, dataset: "d", from, mode: "merge", signal });
    });
    await Promise.all(imports);
    expect(new Set(await inputs("d"))).toEqual(new Set(names.map((id) => [id, 1])));
  });

  test("with thousands of problems tells the first twenty", async () => {
    const from = write("x.jsonl", "nonsense\n".repeat(5_000));
    expect(await problemsOf(importDataset({ store, dataset: "d", from, signal }))).toHaveLength(20);
  });

  test("that is not there, is no text or of no known format is refused", async () => {
    const wish = { store, dataset: "d", signal };
    await expect(importDataset({ ...wish, from: join(dir, "no.csv") })).rejects.toMatchObject({ code: "not_found" });
    const latin = write("x.csv", Buffer.from("input\n\xe9\n", "latin1"));
    await expect(importDataset({ ...wish, from: latin })).rejects.toMatchObject({ code: "config_invalid" });
    await expect(importDataset({ ...wish, from: write("x.txt", "") })).rejects.toMatchObject({ code: "usage_invalid" });
  });

  test("with a byte order mark and Windows line ends is read like any other", async () => {
    const from = write("x.csv", "\ufeffid,input\r\na,1\r\n");
    await importDataset({ store, dataset: "d", from, signal });
    expect(await inputs("d")).toEqual([["a", "1"]]);
  });
});

describe("an export", () => {
  beforeEach(async () => {
    await createDataset({ store, name: "d" });
    const put = Array.from({ length: 450 }, (_, n) => ({
      id: `i${n}`,
      input: { n },
      expectedOutput: `${n}`,
      metadata: { n },
    }));
    await writeItems({ store, dataset: "d", put, signal });
    await writeItems({ store, dataset: "d", remove: ["i0"], signal });
  });

  test.each(["jsonl", "json", "csv"] as const)("as %s can be imported again and says the same", async (format) => {
    const to = join(dir, `x.${format}`);
    const { written, version } = await exportDataset({ store, dataset: "d", version: 1, to, signal });
    expect([written, version]).toEqual([450, 1]);
    const { version: again } = await importDataset({ store, dataset: "d", from: to, cells: "json", signal });
    expect([again.added, again.changed, again.removed]).toEqual([1, 0, 0]);
    expect(readdirSync(dir)).toEqual([`x.${format}`]);
  });

  test("that is cancelled leaves the old file as it was and nothing beside it", async () => {
    const to = write("x.jsonl", "old");
    const done = exportDataset({ store, dataset: "d", to, signal: AbortSignal.abort(new Error("enough")) });
    await expect(done).rejects.toThrow("enough");
    expect(readFileSync(to, "utf8")).toBe("old");
    expect(readdirSync(dir)).toEqual(["x.jsonl"]);
  });

  test("goes to whoever takes it, piece by piece", async () => {
    const texts: string[] = [];
    await exportDataset({ store, dataset: "d", to: { write: (text) => void texts.push(text) }, signal });
    expect(texts.join("").trim().split("\n")).toHaveLength(449);
    expect(texts.length).toBeGreaterThan(1);
  });
});
