import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, test } from "vitest";
import { makeRoom, type Room } from "./rollout-cli.ts";

interface Shown {
  readonly schema_version: number;
  readonly version: number;
  readonly items: readonly { readonly id: string; readonly input: unknown }[];
}

async function ok(room: Room, ...args: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await room.run(args);
  expect(code, stdout + stderr).toBe(0);
  return stdout;
}

async function show(room: Room, name: string): Promise<Shown> {
  return JSON.parse(await ok(room, "dataset", "show", name, "--json")) as Shown;
}

describe("a dataset on the command line", () => {
  test("is imported, shown, changed, compared, exported and removed", async () => {
    const room = await makeRoom();
    await room.write("questions.jsonl", '{"id":"a","input":"one","expected_output":1}\n{"id":"b","input":"two"}\n');
    const first = await ok(room, "dataset", "import", "questions.jsonl", "--note", "first");
    expect(first).toContain("questions: 2 items read, version 1: 2 added, 0 changed, 0 removed");
    expect(first).toContain("next: rollout dataset show questions\n");
    expect(existsSync(room.path(".rollout/rollout.db"))).toBe(true);

    await room.write("new.csv", "id,input\nb,TWO\nc,three\n");
    expect(await ok(room, "dataset", "import", "new.csv", "--name", "questions")).toContain(
      "version 2: 1 added, 1 changed, 1 removed",
    );
    expect(await ok(room, "dataset", "import", "new.csv", "--name", "questions")).toContain("nothing differs");
    expect((await show(room, "questions@1")).items.map(({ id }) => id)).toEqual(["a", "b"]);
    expect((await show(room, "questions")).items.map(({ input }) => input)).toEqual(["TWO", "three"]);

    const diff = await ok(room, "dataset", "diff", "questions");
    expect(diff).toContain("version 1 to 2: 1 added, 1 changed, 1 removed");
    expect(diff).toMatch(/^- a {2}"one" {2}-> 1\n- b {2}"two"\n\+ b {2}"TWO"\n\+ c {2}"three"$/m);
    expect(await ok(room, "dataset", "versions", "questions")).toMatch(/2 +2 +1 +1 +1[^]*1 +2 +2 +0 +0.*first/);
    expect(await ok(room, "dataset", "list")).toMatch(/questions +2 +2/);
    expect(await ok(room, "dataset", "show", "questions", "--item", "b")).toMatch(
      /since version 2[^]*from version 1 until 2/,
    );

    expect(await ok(room, "dataset", "export", "questions@1")).toBe(
      '{"id":"a","input":"one","expectedOutput":1}\n{"id":"b","input":"two"}\n',
    );
    expect(await ok(room, "dataset", "export", "questions", "out.csv")).toContain("2 items written to out.csv");
    expect(await room.read("out.csv")).toBe("id,input\r\nb,TWO\r\nc,three\r\n");

    expect((await room.run(["dataset", "remove", "questions"])).code).toBe(2);
    await ok(room, "dataset", "remove", "questions", "--yes");
    expect(await ok(room, "dataset", "list")).toContain("holds no dataset\nnext: rollout dataset import FILE\n");
  });

  test("with problems is told line by line, and nothing is written", async () => {
    const room = await makeRoom();
    await room.write("schema.json", '{"type":"string"}');
    await ok(room, "dataset", "create", "q", "--input-schema", "schema.json", "--description", "d");
    await room.write("q.jsonl", '{"input":"fine"}\n{"input":1}\n{"input":"x",}\n');
    const { code, stdout, stderr } = await room.run(["dataset", "import", "q.jsonl"]);
    expect([code, stdout]).toEqual([2, ""]);
    expect(stderr).toContain("q.jsonl:2:1 input: must be string\n");
    expect(stderr).toContain('q.jsonl:3:14 a "," before "}" has nothing behind it\n');
    expect(stderr).toContain("q.jsonl has 2 problems; nothing was written");
    expect((await show(room, "q")).version).toBe(0);
  });

  test("comes from stdin and from columns of any name, in the store that is named", async () => {
    const room = await makeRoom();
    await room.write("t.csv", "nr,question,answer,topic\n1,how many,42,math\n");
    const args = ["--input-columns", "question", "--expected-columns", "answer", "--id-column", "nr", "--json-cells"];
    await ok(room, "dataset", "import", "t.csv", ...args, "--store", "other.db");
    const env = { ROLLOUT_STORE: "other.db" };
    const { stdout } = await room.run(["dataset", "show", "t", "--json"], { env });
    expect((JSON.parse(stdout) as Shown).items).toEqual([
      { id: "1", input: "how many", expected_output: 42, metadata: { topic: "math" }, version: 1 },
    ]);
    expect(existsSync(room.path(".rollout"))).toBe(false);
    const piped = { command: ["sh", "-c", 'cat t.csv | "$@"', "sh", process.execPath, `${process.cwd()}/dist/bin.js`] };
    const words = ["dataset", "import", "-", "--name", "p", "--format", "csv", "--input-columns", "question"];
    expect((await room.run(words, piped)).stdout).toContain("p: 1 item read, version 1");
  });

  test("of which no item has what was named as the expected output is refused", async () => {
    const room = await makeRoom();
    const columns = ["--input-columns", "q", "--expected-columns"];
    const refused = async (file: string, content: string): Promise<void> => {
      await room.write(file, content);
      const { code, stderr } = await room.run(["dataset", "import", file, ...columns, "anser"]);
      expect(code).toBe(2);
      expect(stderr).toContain(`${file} anser: unknown field; did you mean "answer"?`);
      expect(await ok(room, "dataset", "import", file, ...columns, "answer")).toContain("2 items read, version 1");
    };
    await refused("lines.jsonl", '{"q": 1, "answer": 2}\n{"q": 3}\n');
    await refused("table.csv", "q,answer\na,\nb,\n");
  });

  test("is exported as JSON by its format, and --json is about a file", async () => {
    const room = await makeRoom();
    await room.write("q.jsonl", '{"input": 1}\n');
    await ok(room, "dataset", "import", "q.jsonl");
    const { code, stdout, stderr } = await room.run(["dataset", "export", "q", "--json"]);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toContain("--format json");
    expect(JSON.parse(await ok(room, "dataset", "export", "q", "--format", "json"))).toHaveLength(1);
  });

  test("is not to be found in the list of a store that is not there, which stays empty", async () => {
    const room = await makeRoom();
    const datasets = await ok(room, "dataset", "list");
    expect(datasets).toContain("there is no store .rollout/rollout.db, so there are no datasets");
    expect(datasets).toContain("next: rollout");
    const runs = await ok(room, "list");
    expect(runs).toContain("no runs found in jobs, experiments, .rollout/rollout.db");
    expect(runs).toContain("next: rollout");
    const json = JSON.parse(await ok(room, "dataset", "list", "--json")) as unknown;
    expect(json).toMatchObject({ store: ".rollout/rollout.db", datasets: [] });
    expect(JSON.parse(await ok(room, "list", "--json"))).toMatchObject({ runs: [] });
    expect(existsSync(room.path(".rollout"))).toBe(false);
  });

  test.for([
    ["older", 2],
    ["newer", 99],
  ] as const)(
    "is listed, shown and exported from a store of an %s rollout, which is left as it is",
    async ([, version]) => {
      const room = await makeRoom();
      await room.write("q.jsonl", '{"input": 1}\n');
      await ok(room, "dataset", "import", "q.jsonl");
      const path = room.path(".rollout/rollout.db");
      const database = new DatabaseSync(path);
      database.exec(`UPDATE rollout_schema SET version = ${version}; PRAGMA journal_mode = DELETE`);
      database.close();
      const before = await readFile(path);
      expect(await ok(room, "dataset", "list")).toMatch(/q +1 +1/);
      expect(await ok(room, "dataset", "show", "q")).toContain("q");
      expect(JSON.parse(await ok(room, "dataset", "export", "q", "--format", "json"))).toHaveLength(1);
      expect(await ok(room, "list")).toContain("no runs found");
      expect(before.equals(await readFile(path))).toBe(true);
    },
  );

  test("that is not there, in a store that is not there, is told and makes nothing", async () => {
    const room = await makeRoom();
    const none = await room.run(["dataset", "show", "questions"]);
    expect(none.code).toBe(2);
    expect(none.stderr).toContain("there is no store .rollout/rollout.db");
    expect(existsSync(room.path(".rollout"))).toBe(false);
    await room.write("questions.jsonl", '{"input":1}\n');
    await ok(room, "dataset", "import", "questions.jsonl");
    const typo = await room.run(["dataset", "show", "question"]);
    expect(typo.code).toBe(2);
    expect(typo.stderr).toContain('did you mean "questions"');
    const past = await room.run(["dataset", "export", "questions@9"]);
    expect(past.stderr).toContain('"questions" has no version 9');
  });

  test("a file that is no database is refused and left as it is", async () => {
    const room = await makeRoom();
    await room.write("x.db", "not a database, but long enough to look like one ".repeat(200));
    const { code, stderr } = await room.run(["dataset", "list", "--store", "x.db"]);
    expect([code, stderr]).toEqual([2, expect.stringContaining("x.db is not an SQLite database")]);
  });

  test("a store or a folder that cannot be is told, and nothing is made of it", async () => {
    const room = await makeRoom();
    await room.write("x.jsonl", '{"input":1}\n');
    const wrong = async (...args: string[]): Promise<string> => {
      const { code, stderr } = await room.run(["dataset", ...args]);
      expect(code, stderr).toBe(2);
      return stderr;
    };
    expect(await wrong("import", "x.jsonl", "--store", "http://x")).toContain("a store cannot be at http://");
    expect(existsSync(room.path("http:"))).toBe(false);
    expect(await wrong("import", "x.jsonl", "--store", ".")).toContain("is a folder");
    await ok(room, "dataset", "import", "x.jsonl");
    expect(await wrong("export", "x", "missing/x.csv")).toMatch(/the folder .*missing does not exist/);
    expect(await wrong("import", "x.jsonl", "--name", "x@3")).toContain("must not end like a version");
    await ok(room, "dataset", "create", "later");
    expect(await ok(room, "dataset", "list")).toMatch(/^later +0 +0 .*nothing was written to it yet$/m);
    expect(await ok(room, "dataset", "show", "later")).toContain("later: nothing was written to it yet\n");
  });

  test("several first imports at once all come to one dataset", async () => {
    const room = await makeRoom();
    const names = ["1", "2", "3", "4"];
    for (const name of names) await room.write(`${name}.jsonl`, `{"id":"${name}","input":${name}}\n`);
    await Promise.all(names.map((name) => ok(room, "dataset", "import", `${name}.jsonl`, "--name", "par", "--merge")));
    expect((await show(room, "par")).items.map(({ id }) => id).sort()).toEqual(names);
  });

  test("an import that is interrupted leaves nothing", async () => {
    const room = await makeRoom();
    await room.run([], { command: ["mkfifo", room.path("endless")] });
    const command = ["sh", "-c", 'exec "$@" <> endless', "sh", process.execPath, `${process.cwd()}/dist/bin.js`];
    const words = ["dataset", "import", "-", "--name", "x", "--format", "jsonl"];
    const running = room.start(words, { command });
    await running.until("the store is there", () => existsSync(room.path(".rollout/rollout.db-wal")));
    running.kill("SIGINT");
    const { code, stderr } = await running.ended;
    expect([code, stderr]).toEqual([130, "rollout: the command was cancelled by SIGINT\n"]);
    expect(await ok(room, "dataset", "list")).toContain("holds no dataset");
  });

  test("an export stops quietly when its reader goes away", async () => {
    const room = await makeRoom();
    const lines = Array.from({ length: 20_000 }, (_, n) => JSON.stringify({ input: `${n}`.repeat(20) }));
    await room.write("big.jsonl", lines.join("\n"));
    await ok(room, "dataset", "import", "big.jsonl");
    const command = ["sh", "-c", '"$@" | head -n 1', "sh", process.execPath, `${process.cwd()}/dist/bin.js`];
    const { code, stdout, stderr } = await room.run(["dataset", "export", "big"], { command });
    expect([code, stdout.trim().split("\n").length, stderr]).toEqual([0, 1, ""]);
  });
});
