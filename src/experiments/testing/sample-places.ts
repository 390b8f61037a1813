import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { readHost } from "../../base/host.ts";
import { readOwner } from "../../base/process-owner.ts";
import { FakeClock } from "../../base/testing/fake-clock.ts";
import { openMemoryStore } from "../../store/memory/open-memory-store.ts";
import type { Run } from "../../store/run.ts";
import { openDirectoryRepository } from "../output/directory/directory-repository.ts";
import type { ExperimentRepository } from "../output/experiment-repository.ts";
import { openStoreRepository } from "../output/store/store-repository.ts";

const host = readHost(process);

/** A repository of one kind, and the clock of its experiments. */
export interface SamplePlace {
  readonly repository: ExperimentRepository;
  readonly clock: FakeClock;
}

/** Opens each kind of repository. */
export const samplePlaces: Readonly<Record<string, () => Promise<SamplePlace>>> = {
  async "a directory"() {
    const directory = await mkdtemp(join(tmpdir(), "rollout-perform-"));
    onTestFinished(() => rm(directory, { recursive: true, force: true }));
    const clock = new FakeClock();
    const { signal } = new AbortController();
    return { clock, repository: openDirectoryRepository({ directory, host, clock, signal }) };
  },
  async "a store"() {
    const clock = new FakeClock();
    const store = openMemoryStore({ host, clock });
    return { clock, repository: openStoreRepository({ store, owner: readOwner(host), clock }) };
  },
};

/** Returns an experiment that must be there. */
export async function findSample({ repository }: SamplePlace, id: string): Promise<Run> {
  const run = await repository.find(id);
  if (run === null) throw new Error(`there is no experiment ${id}`);
  return run;
}
