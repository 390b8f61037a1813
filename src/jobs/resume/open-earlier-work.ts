import { existsSync } from "node:fs";
import { mkdir, readdir, readFile, stat } from "node:fs/promises";
import { RolloutError } from "../../base/rollout-error.ts";
import { claimJob, type ClaimJobOptions } from "../output/claim-job.ts";
import { readJobJournal, type JournalRecord } from "../output/job-journal.ts";
import { jobPaths, sessionLog, type JobPaths } from "../output/job-paths.ts";
import type { SessionFile } from "../output/job-result-schema.ts";
import type { ReopenedDirectory } from "../output/open-job-output.ts";

/** What earlier sessions of a job left. Nobody else works on the job until it is disposed. */
export interface EarlierWork extends AsyncDisposable, ReopenedDirectory {
  readonly journal: JournalRecord;
}

const nothingWritten: JournalRecord = {
  started: null,
  ended: null,
  sessions: [],
  runIds: [],
  finished: new Map(),
  tasks: new Map(),
};

/** Claims a job directory and reads it; rejects when it is none, or when another process works on it. */
export async function openEarlierWork(dir: string, options: ClaimJobOptions): Promise<EarlierWork> {
  const paths = jobPaths(dir);
  const names = await readdir(dir).catch(() => null);
  // A process that died at once may have left nothing but the directory.
  if (names === null || (names.length > 0 && !existsSync(paths.own)))
    throw new RolloutError("not_found", `${dir} is not a job directory`, {
      hint: "name the directory that a job made, as in jobs/my-job",
    });
  await mkdir(paths.own, { recursive: true });
  await using opened = new AsyncDisposableStack();
  opened.use(await claimJob(paths, options));
  const written = existsSync(paths.journal) ? await readJobJournal(paths.journal) : nothingWritten;
  const journal = { ...written, sessions: await withLastSign(paths, written.sessions) };
  const config = await readConfig(paths.config);
  const { name } = { name: undefined, ...(config as { readonly name?: unknown } | null) };
  const kept = opened.move();
  return {
    name: journal.started?.job_name ?? (typeof name === "string" ? name : null),
    paths,
    session: journal.sessions.length + 1,
    config,
    journal,
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}

// A process that died wrote its log to the last.
async function withLastSign(paths: JobPaths, sessions: readonly SessionFile[]): Promise<readonly SessionFile[]> {
  const last = sessions.at(-1);
  if (!last || last.ended_at !== null) return sessions;
  const log = await stat(sessionLog(paths, sessions.length)).catch(() => null);
  const lived = Math.round((log?.mtimeMs ?? 0) - Date.parse(last.started_at)) / 1000;
  return [...sessions.slice(0, -1), { ...last, duration_sec: Math.max(last.duration_sec, lived) }];
}

async function readConfig(path: string): Promise<unknown> {
  try {
    return JSON.parse(await readFile(path, "utf8")) as unknown;
  } catch {
    return null;
  }
}
