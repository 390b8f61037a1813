import type { Run } from "../../store/run.ts";
import { jobPaths } from "../output/job-paths.ts";
import { mapBounded } from "../tasks/map-bounded.ts";
import { findJobs, type FoundJob } from "./find-jobs.ts";
import { readRunFile } from "./run-file.ts";

/** A job and its run as it was last recorded. */
export interface ListedJob {
  readonly dir: string;
  readonly run: Run;
}

export interface JobCatalogueOptions {
  readonly roots: readonly string[];
  readonly cwd: string;
  /** Reads a job that has no usable run.json. Returns null if the directory holds no job. */
  readonly readUnlisted: (dir: string) => Promise<Run | null>;
}

interface CachedRun {
  readonly stamp: string;
  readonly run: Run | null;
}

const maxReads = 16;

/** Knows the jobs below some directories. A scan reads only the run.json files that changed since the last one. */
export class JobCatalogue {
  readonly #options: JobCatalogueOptions;
  #cached: ReadonlyMap<string, CachedRun> = new Map();
  #jobs: ReadonlyMap<string, ListedJob> = new Map();

  constructor(options: JobCatalogueOptions) {
    this.#options = options;
  }

  /** Returns the directory in which the last scan found a job. */
  dirOf(runId: string): string | undefined {
    return this.#jobs.get(runId)?.dir;
  }

  /** Finds all jobs. Of several copies of a job, only the first counts. */
  async scan(): Promise<readonly ListedJob[]> {
    const { roots, cwd } = this.#options;
    const found = await findJobs(roots, cwd);
    const cached = new Map<string, CachedRun>();
    const runs = await mapBounded(found, maxReads, async (job) => {
      const recorded = await this.#readRecorded(job);
      if (recorded) cached.set(job.dir, recorded);
      return recorded?.run ?? (await this.#options.readUnlisted(job.dir));
    });
    const jobs = new Map<string, ListedJob>();
    for (const [at, { dir }] of found.entries()) {
      const run = runs[at];
      if (run && !jobs.has(run.id)) jobs.set(run.id, { dir, run });
    }
    this.#cached = cached;
    this.#jobs = jobs;
    return [...jobs.values()];
  }

  async #readRecorded({ dir, runStamp: stamp }: FoundJob): Promise<CachedRun | null> {
    if (stamp === null) return null;
    const known = this.#cached.get(dir);
    return known?.stamp === stamp ? known : { stamp, run: await readRunFile(jobPaths(dir).run) };
  }
}
