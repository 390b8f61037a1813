import { basename, join } from "node:path";
import type { Clock } from "../../base/clock.ts";
import type { Host } from "../../base/host.ts";
import type { Log, LogEntry, LogLevel } from "../../base/log.ts";
import { redactJson, type Redactor } from "../../base/redactor.ts";
import { writeJsonAtomic } from "../../base/writers/atomic-file.ts";
import { hashValue } from "../inputs/bound-keys.ts";
import { claimJob } from "./claim-job.ts";
import { createJobDirectory } from "./job-directory.ts";
import { openJobJournal, type JobJournal, type JobStartedLine } from "./job-journal.ts";
import { openJobLog } from "./job-log.ts";
import { sessionLog, type JobPaths } from "./job-paths.ts";

/** The directory of a job that is taken up again; whoever made it holds its claim. */
export interface ReopenedDirectory {
  /** What the job is called; null when it died before it wrote that down. */
  readonly name: string | null;
  readonly paths: JobPaths;
  /** From 2, or 1 when the job died before its journal began. */
  readonly session: number;
  /** What config.json holds; null when there is none. */
  readonly config: unknown;
}

export interface OpenJobOutputOptions {
  readonly jobsDir: string;
  /** Null has one made from the time. */
  readonly name: string | null;
  /** Null makes a new directory. */
  readonly reopened: ReopenedDirectory | null;
  readonly startedAt: number;
  readonly host: Host;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly redactor: Redactor;
  readonly logLevel: LogLevel;
  readonly onLog: (entry: LogEntry) => void;
  /** What config.json keeps; the name is added. */
  readonly document: Readonly<Record<string, unknown>>;
  readonly owner: Readonly<Record<string, unknown>>;
  readonly startedLine: (name: string, session: number) => JobStartedLine;
}

/** The directory of a job that is about to run, with everything in it that is there from the start. */
export interface JobOutput extends AsyncDisposable {
  readonly name: string;
  readonly paths: JobPaths;
  readonly log: Log;
  readonly journal: JobJournal;
  readonly started: JobStartedLine;
}

/** Makes or reopens the job's directory and opens its log and journal; dispose it when the last line is written. */
export async function openJobOutput(options: OpenJobOutputOptions): Promise<JobOutput> {
  const { clock, redactor, reopened } = options;
  await using opened = new AsyncDisposableStack();
  const { name: known, paths } =
    reopened ?? (await createJobDirectory(options.jobsDir, options.name, options.startedAt));
  if (!reopened) opened.use(await claimJob(paths, options));
  const name = known ?? options.name ?? basename(paths.dir);
  const session = reopened?.session ?? 1;
  const { log } = opened.use(
    await openJobLog(sessionLog(paths, session), clock, redactor, options.logLevel, options.onLog),
  );
  await writeConfig(paths, { ...options.document, name }, reopened, redactor);
  await writeJsonAtomic(paths.lock, options.owner, redactor);
  const journal = opened.use(await openJobJournal(paths.journal, redactor));
  const started = options.startedLine(name, session);
  await journal.append(started);
  const kept = opened.move();
  return { name, paths, log, journal, started, [Symbol.asyncDispose]: () => kept.disposeAsync() };
}

// What earlier sessions ran with stays readable beside what this one runs with.
async function writeConfig(
  paths: JobPaths,
  config: Readonly<Record<string, unknown>>,
  reopened: ReopenedDirectory | null,
  redactor: Redactor,
): Promise<void> {
  if (reopened && reopened.config !== null) {
    if (hashValue(JSON.parse(redactJson(config, redactor))) === hashValue(reopened.config)) return;
    await writeJsonAtomic(join(paths.own, `config-${reopened.session - 1}.json`), reopened.config, redactor);
  }
  await writeJsonAtomic(paths.config, config, redactor);
}
