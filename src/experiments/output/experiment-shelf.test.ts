import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { systemClock as clock } from "../../base/clock.ts";
import { readHost } from "../../base/host.ts";
import { readOwner } from "../../base/process-owner.ts";
import { openMemoryStore } from "../../store/memory/open-memory-store.ts";
import { shelfCases } from "../testing/shelf-cases.ts";
import { openDirectoryShelf } from "./directory/directory-shelf.ts";
import type { ExperimentShelf } from "./experiment-shelf.ts";
import { openStoreShelf } from "./store/store-shelf.ts";

const host = readHost(process);
const { signal } = new AbortController();

async function makeDirectory(): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), "rollout-shelf-"));
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  return directory;
}

const openers: Readonly<Record<string, () => Promise<ExperimentShelf>>> = {
  "a directory": async () => openDirectoryShelf({ directory: await makeDirectory(), host, clock, signal }),
  async "a store"() {
    const store = openMemoryStore({ host, clock });
    return openStoreShelf({ store, owner: readOwner(host), clock });
  },
};

for (const [name, open] of Object.entries(openers)) {
  describe(`experiments in ${name}`, () => {
    for (const entry of shelfCases) test(entry.title, async () => await entry.run(await open()));
  });
}

test("a directory whose lines were done again has each of them once when all is over", async () => {
  const directory = await makeDirectory();
  const shelf = openDirectoryShelf({ directory, host, clock, signal });
  const again = shelfCases.filter(({ title }) => /done again|made anew/.test(title));
  expect(again).toHaveLength(2);
  const ids: string[] = [];
  const watched: ExperimentShelf = {
    ...shelf,
    begin: (plan, examples) => (ids.push(plan.id), shelf.begin(plan, examples)),
  };
  for (const entry of again) await entry.run(watched);
  for (const id of ids)
    for (const [file, keys] of [
      ["runs.jsonl", ["run_id"]],
      ["evaluations.jsonl", ["run_id", "evaluator_name"]],
    ] as const) {
      const lines = (await readFile(join(directory, id, file), "utf8")).trimEnd().split("\n");
      const found = lines.map((line) => keys.map((key) => (JSON.parse(line) as Record<string, string>)[key]).join());
      expect(found).toEqual([...new Set(found)]);
    }
});

test("a name that is no name of a directory is refused", async () => {
  const shelf = openDirectoryShelf({ directory: await makeDirectory(), host, clock, signal });
  await expect(shelf.find("../elsewhere")).rejects.toMatchObject({ code: "usage_invalid" });
});
