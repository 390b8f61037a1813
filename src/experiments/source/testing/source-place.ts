import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { systemClock as clock } from "../../../base/clock.ts";
import { readHost } from "../../../base/host.ts";
import type { RunSource } from "../../../store/run-source.ts";
import { openDirectoryRepository } from "../../output/directory/directory-repository.ts";
import type { ExperimentRepository } from "../../output/experiment-repository.ts";
import { openExperimentSource } from "../open-experiment-source.ts";

const host = readHost(process);

/** A directory of experiments. */
export interface SourcePlace {
  readonly directory: string;
  readonly repository: ExperimentRepository;
  readonly source: RunSource;
}

/** Opens a new directory that is removed after the test. */
export async function openPlace(): Promise<SourcePlace> {
  const directory = await mkdtemp(join(tmpdir(), "rollout-source-"));
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  const { signal } = new AbortController();
  return {
    directory,
    repository: openDirectoryRepository({ directory, host, clock, signal }),
    source: openSource([directory]),
  };
}

/** Opens a source as a process in a working directory. */
export function openSource(roots: readonly string[], cwd = host.cwd): RunSource {
  return openExperimentSource({ roots, host: { ...host, cwd }, clock });
}
