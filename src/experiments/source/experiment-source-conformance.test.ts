import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, onTestFinished, test } from "vitest";
import { systemClock as clock } from "../../base/clock.ts";
import { readHost } from "../../base/host.ts";
import { readOwner } from "../../base/process-owner.ts";
import { runSourceCasesFor } from "../../store/conformance/run-source-cases.ts";
import { openMemoryStore } from "../../store/memory/open-memory-store.ts";
import { openDirectoryRepository } from "../output/directory/directory-repository.ts";
import { openStoreRepository } from "../output/store/store-repository.ts";
import { openExperimentSource } from "./open-experiment-source.ts";
import {
  experimentAbilities,
  experimentRunSubject,
  type ExperimentSubjectOptions,
} from "./testing/experiment-run-subject.ts";

const host = readHost(process);
const { signal } = new AbortController();

const openers: Readonly<Record<string, () => Promise<Pick<ExperimentSubjectOptions, "openRepository" | "source">>>> = {
  async directories() {
    const directory = await mkdtemp(join(tmpdir(), "rollout-source-"));
    onTestFinished(() => rm(directory, { recursive: true, force: true }));
    return {
      openRepository: (worker) => openDirectoryRepository({ directory, host: worker, clock, signal }),
      source: openExperimentSource({ roots: [directory], host, clock }),
    };
  },
  async "a memory store"() {
    const store = openMemoryStore({ host, clock });
    return {
      openRepository: (worker) => openStoreRepository({ store, owner: readOwner(worker), clock }),
      source: store.runs,
    };
  },
};

describe.each(Object.entries(openers))("experiments in %s can be read as a run source", (_name, open) => {
  for (const entry of runSourceCasesFor(experimentAbilities)) {
    test(entry.title, { timeout: entry.isSlow ? 120_000 : 20_000 }, async () => {
      const exampleCount = entry.isSlow ? 100_000 : 1_300;
      await using subject = experimentRunSubject({ ...(await open()), host, exampleCount });
      await entry.run(subject);
    });
  }
});
