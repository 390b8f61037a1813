import type { Clock } from "../../base/clock.ts";
import type { Host } from "../../base/host.ts";
import { shownPath } from "../../base/shown-path.ts";
import { pageRows } from "../../store/page-rows.ts";
import { pageRuns } from "../../store/page-runs.ts";
import type { Artifact, Run, Unit, UnitRow } from "../../store/run.ts";
import type {
  ArtifactContent,
  ByteRange,
  FollowedEvent,
  RunFilter,
  RunSource,
  UnitQuery,
} from "../../store/run-source.ts";
import type { Page, PageRequest } from "../../store/store.ts";
import { unknownError } from "../../store/store-error.ts";
import { artifactsOf, cutValues, valueContent } from "../../store/unit-values.ts";
import { readRun } from "../output/directory/run-file.ts";
import type { ExperimentIndex } from "./experiment-index.ts";
import { findExperiments, locateExperiment } from "./find-experiments.ts";
import { followExperiment } from "./follow-experiment.ts";
import { IndexCache } from "./index-cache.ts";
import { recount } from "./recount.ts";

export interface ExperimentSourceOptions {
  /** Experiment directories, and directories that contain experiment directories. Relative ones start at `host.cwd`. */
  readonly roots: readonly string[];
  readonly host: Host;
  readonly clock: Clock;
}

const maxReads = 16;

/** Opens the experiments in directories for reading. It never writes, and keeps no file open between calls. */
export function openExperimentSource(options: ExperimentSourceOptions): RunSource {
  return new ExperimentSource(options);
}

interface FoundExperiment {
  readonly directory: string;
  readonly run: Run;
}

class ExperimentSource implements RunSource {
  readonly #options: ExperimentSourceOptions;
  readonly #indexes = new IndexCache();

  constructor(options: ExperimentSourceOptions) {
    this.#options = options;
  }

  async list(filter: RunFilter, page: PageRequest<string>): Promise<Page<Run, string>> {
    const directories = [...(await findExperiments(this.#options.roots, this.#options.host.cwd))];
    const runs: Run[] = [];
    for (let from = 0; from < directories.length; from += maxReads) {
      const some = directories.slice(from, from + maxReads);
      const read = await Promise.all(some.map(([id, directory]) => this.#readRun(id, directory)));
      runs.push(...read.filter((run) => run !== null));
    }
    return pageRuns(runs, filter, page);
  }

  async get(runId: string): Promise<Run | null> {
    const found = await this.#find(runId);
    if (found === null) return null;
    const { run } = found;
    const isUnfinished = run.status === "running" || run.status === "interrupted";
    return isUnfinished ? recount(run, (await this.#refresh(found)).rows) : run;
  }

  async rows(runId: string, query: UnitQuery): Promise<Page<UnitRow, string>> {
    const found = await this.#open(runId);
    const { rows } = await this.#refresh(found);
    return pageRows(rows, query, found.run.shape.scoreName);
  }

  async units(runId: string, query: UnitQuery): Promise<Page<Unit, string>> {
    const found = await this.#open(runId);
    const index = await this.#refresh(found);
    const { entries, next } = pageRows(index.rows, query, found.run.shape.scoreName);
    return { entries: await index.readUnits(entries.map((row) => row.index)), next };
  }

  async unit(runId: string, key: string): Promise<Unit | null> {
    const unit = await this.#readUnit(runId, key);
    return unit && cutValues(unit);
  }

  async artifacts(runId: string, key: string): Promise<readonly Artifact[]> {
    const unit = await this.#readUnit(runId, key);
    return unit === null ? [] : artifactsOf(unit);
  }

  async artifact(runId: string, key: string, name: string, range?: ByteRange): Promise<ArtifactContent | null> {
    const unit = await this.#readUnit(runId, key);
    return unit && valueContent(unit, name, range);
  }

  async *follow(runId: string, cursor: string | null, signal: AbortSignal): AsyncGenerator<FollowedEvent> {
    const found = await this.#open(runId);
    const index = await this.#refresh(found);
    const { clock } = this.#options;
    const read = async (): Promise<Run> => {
      const run = await this.#readRun(runId, found.directory);
      if (run === null) throw unknownError("run", runId);
      return run;
    };
    yield* followExperiment({ index, readRun: read, cursor, clock, signal });
  }

  async #readUnit(runId: string, key: string): Promise<Unit | null> {
    const index = await this.#refresh(await this.#open(runId));
    const at = index.indexOf(key);
    if (at === null || index.entryAt(at) === null) return null;
    return (await index.readUnits([at]))[0] ?? null;
  }

  async #open(runId: string): Promise<FoundExperiment> {
    const found = await this.#find(runId);
    if (found === null) throw unknownError("run", runId);
    return found;
  }

  async #find(runId: string): Promise<FoundExperiment | null> {
    const { roots, host } = this.#options;
    for (const directory of await locateExperiment(runId, roots, host.cwd)) {
      const run = await this.#readRun(runId, directory);
      if (run !== null) return { directory, run };
    }
    return null;
  }

  /** Reads an experiment. One that was moved has the name of its directory as its id. */
  async #readRun(id: string, directory: string): Promise<Run | null> {
    const { cwd } = this.#options.host;
    const run = await readRun(directory, this.#options);
    return run && { ...run, id, location: directory === cwd ? "." : shownPath(directory, cwd) };
  }

  async #refresh({ directory, run }: FoundExperiment): Promise<ExperimentIndex> {
    const index = this.#indexes.get(directory, run);
    await index.refresh();
    return index;
  }
}
