import type { Clock } from "../../base/clock.ts";
import type { Log, LogEntry, LogLevel } from "../../base/log.ts";
import type { Redactor } from "../../base/redactor.ts";
import { writeJsonAtomic } from "../../base/writers/atomic-file.ts";
import { createJobDirectory } from "./job-directory.ts";
import { openJobJournal, type JobJournal, type JobStartedLine } from "./job-journal.ts";
import { openJobLog } from "./job-log.ts";
import type { JobPaths } from "./job-paths.ts";

export interface OpenJobOutputOptions {
  readonly jobsDir: string;
  /** Null has one made from the time. */
  readonly name: string | null;
  readonly startedAt: number;
  readonly clock: Clock;
  readonly redactor: Redactor;
  readonly logLevel: LogLevel;
  readonly onLog: (entry: LogEntry) => void;
  /** What config.json keeps; the name is added. */
  readonly document: Readonly<Record<string, unknown>>;
  readonly owner: Readonly<Record<string, unknown>>;
  readonly startedLine: (name: string) => JobStartedLine;
}

/** The directory of a job that is about to run, with everything in it that is there from the start. */
export interface JobOutput extends AsyncDisposable {
  readonly name: string;
  readonly paths: JobPaths;
  readonly log: Log;
  readonly journal: JobJournal;
}

/** Makes the job's directory and opens its log and journal; dispose it when the last line is written. */
export async function openJobOutput(options: OpenJobOutputOptions): Promise<JobOutput> {
  const { clock, redactor } = options;
  const { name, paths } = await createJobDirectory(options.jobsDir, options.name, options.startedAt);
  await using opened = new AsyncDisposableStack();
  const { log } = opened.use(await openJobLog(paths, clock, redactor, options.logLevel, options.onLog));
  await writeJsonAtomic(paths.config, { ...options.document, name }, redactor);
  await writeJsonAtomic(paths.lock, options.owner, redactor);
  const journal = opened.use(await openJobJournal(paths.journal, redactor));
  await journal.append(options.startedLine(name));
  const kept = opened.move();
  return { name, paths, log, journal, [Symbol.asyncDispose]: () => kept.disposeAsync() };
}
