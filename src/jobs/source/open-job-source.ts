import { RolloutError } from "../../base/rollout-error.ts";
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
import { jobPaths } from "../output/job-paths.ts";
import { mapBounded } from "../tasks/map-bounded.ts";
import { followJob } from "./follow-job.ts";
import { IndexCache } from "./index-cache.ts";
import type { JobIndex } from "./job-index.ts";
import { JobCatalogue, type ListedJob } from "./job-catalogue.ts";
import { readLife, type Observer } from "./job-life.ts";
import { readRunFile } from "./run-file.ts";
import { listTrialArtifacts, openTrialArtifact } from "./trial-artifact.ts";

export interface JobSourceOptions extends Observer {
  /** Job directories, and directories that contain job directories. Relative ones start at `host.cwd`. */
  readonly roots: readonly string[];
}

const maxReads = 16;

/** Opens the jobs in directories for reading. It never writes, and keeps no file open between calls. */
export function openJobSource(options: JobSourceOptions): RunSource {
  return new JobSource(options);
}

class JobSource implements RunSource {
  readonly #options: JobSourceOptions;
  readonly #indexes: IndexCache;
  readonly #catalogue: JobCatalogue;

  constructor(options: JobSourceOptions) {
    this.#options = options;
    this.#indexes = new IndexCache((dir) => this.#locationOf(dir));
    this.#catalogue = new JobCatalogue({
      roots: options.roots,
      cwd: options.host.cwd,
      readUnlisted: (dir) => this.#readUnlisted(dir),
    });
  }

  async list(filter: RunFilter, page: PageRequest<string>): Promise<Page<Run, string>> {
    const jobs = await this.#catalogue.scan();
    return pageRuns(await mapBounded(jobs, maxReads, (job) => this.#toCurrent(job)), filter, page);
  }

  async get(runId: string): Promise<Run | null> {
    const index = await this.#find(runId);
    return index && (await this.#readRun(index));
  }

  async rows(runId: string, query: UnitQuery): Promise<Page<UnitRow, string>> {
    return pageOf(await this.#open(runId), query);
  }

  async units(runId: string, query: UnitQuery): Promise<Page<Unit, string>> {
    const index = await this.#open(runId);
    const { entries, next } = pageOf(index, query);
    return { entries: await index.readUnits(entries.flatMap(({ key }) => index.state.trial(key) ?? [])), next };
  }

  async unit(runId: string, key: string): Promise<Unit | null> {
    const index = await this.#open(runId);
    const trial = index.state.trial(key);
    return trial && ((await index.readUnits([trial]))[0] ?? null);
  }

  async artifacts(runId: string, key: string): Promise<readonly Artifact[]> {
    return listTrialArtifacts(await this.#open(runId), key);
  }

  async artifact(runId: string, key: string, name: string, range?: ByteRange): Promise<ArtifactContent | null> {
    return openTrialArtifact(await this.#open(runId), key, name, range);
  }

  async *follow(runId: string, cursor: string | null, signal: AbortSignal): AsyncGenerator<FollowedEvent> {
    const index = await this.#open(runId);
    yield* followJob({
      index,
      readRun: () => this.#readRun(index),
      isAlive: async () => (await readLife(index.paths, this.#options)).owner !== null,
      cursor,
      clock: this.#options.clock,
      signal,
    });
  }

  async #open(runId: string): Promise<JobIndex> {
    const index = await this.#find(runId);
    if (index === null) throw unknownError("run", runId);
    return index;
  }

  async #find(runId: string): Promise<JobIndex | null> {
    const known = await this.#openKnown(runId);
    if (known !== null) return known;
    await this.#catalogue.scan();
    return this.#openKnown(runId);
  }

  /** Opens a job where the last scan found it. */
  async #openKnown(runId: string): Promise<JobIndex | null> {
    const dir = this.#catalogue.dirOf(runId);
    if (dir === undefined) return null;
    const index = this.#indexes.get(dir);
    return (await index.refresh()) && index.state.started?.job_id === runId ? index : null;
  }

  /** Corrects a run that was recorded by a process that may have died since. */
  async #toCurrent({ dir, run }: ListedJob): Promise<Run> {
    const located = { ...run, location: this.#locationOf(dir) };
    if (run.status !== "running" && run.status !== "paused") return { ...located, owner: null };
    const life = await readLife(jobPaths(dir), this.#options);
    // Its process writes its counts only now and then; the journal has them.
    return (await this.#readUnlisted(dir)) ?? { ...located, ...life };
  }

  async #readUnlisted(dir: string): Promise<Run | null> {
    const index = this.#indexes.get(dir);
    return (await index.refresh()) ? this.#readRun(index) : null;
  }

  async #readRun(index: JobIndex): Promise<Run> {
    // Before the journal is read: it is complete if no process was alive.
    const life = await readLife(index.paths, this.#options);
    await index.refresh();
    const run = this.#indexes.runOf(index);
    if (run === null) throw new RolloutError("not_found", `${index.paths.dir} no longer holds a job`);
    const recorded = await readRunFile(index.paths.run);
    const hasEnded = index.state.ended !== null;
    return {
      ...run,
      ...(hasEnded ? {} : life),
      // Only run.json has the budget and the notes of the end.
      plan: { ...run.plan, budget: recorded?.plan.budget ?? [] },
      notes: hasEnded ? (recorded?.notes ?? []) : [],
    };
  }

  #locationOf(dir: string): string {
    const { cwd } = this.#options.host;
    return dir === cwd ? "." : shownPath(dir, cwd);
  }
}

function pageOf({ state }: JobIndex, query: UnitQuery): Page<UnitRow, string> {
  const scoreName = state.started?.has_verifier === true ? "reward" : "";
  return pageRows([...state.rows()], query, scoreName);
}
