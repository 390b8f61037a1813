import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { systemClock as clock } from "../../base/clock.ts";
import { readHost } from "../../base/host.ts";
import { readOwner } from "../../base/process-owner.ts";
import { openMemoryStore } from "../../store/memory/open-memory-store.ts";
import { repositoryCases } from "../testing/repository-cases.ts";
import { openDirectoryRepository } from "./directory/directory-repository.ts";
import type { ExperimentRepository } from "./experiment-repository.ts";
import { openStoreRepository } from "./store/store-repository.ts";

const host = readHost(process);
const { signal } = new AbortController();

async function makeDirectory(): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), "rollout-repository-"));
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  return directory;
}

const openers: Readonly<Record<string, () => Promise<ExperimentRepository>>> = {
  "a directory": async () => openDirectoryRepository({ directory: await makeDirectory(), host, clock, signal }),
  async "a store"() {
    const store = openMemoryStore({ host, clock });
    return openStoreRepository({ store, owner: readOwner(host), clock });
  },
};

for (const [name, open] of Object.entries(openers)) {
  describe(`experiments in ${name}`, () => {
    for (const entry of repositoryCases) test(entry.title, async () => await entry.run(await open()));
  });
}

test("a directory has one line for each result when a resumed or scored experiment ends", async () => {
  const directory = await makeDirectory();
  const repository = openDirectoryRepository({ directory, host, clock, signal });
  const again = repositoryCases.filter(({ title }) => /done again|new evaluations replace/.test(title));
  expect(again).toHaveLength(2);
  const ids: string[] = [];
  const watched: ExperimentRepository = {
    ...repository,
    begin: (plan, examples) => (ids.push(plan.id), repository.begin(plan, examples)),
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

test("refuses an id that cannot be the name of a directory", async () => {
  const repository = openDirectoryRepository({ directory: await makeDirectory(), host, clock, signal });
  await expect(repository.find("../elsewhere")).rejects.toMatchObject({ code: "usage_invalid" });
});
