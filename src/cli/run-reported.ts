import { randomUUID } from "node:crypto";
import { silentLog } from "../base/log.ts";
import { loadProviderModule } from "../environments/registry.ts";
import type { Job } from "../jobs/config/job.ts";
import type { PreparedJob } from "../jobs/prepare-job.ts";
import type { PlannedSession } from "../jobs/resume/plan-session.ts";
import type { JobRun } from "../jobs/job-run.ts";
import { runPreparedJob } from "../jobs/run-job.ts";
import type { TaskSelection } from "../jobs/tasks/select-tasks.ts";
import type { CliContext } from "./cli-context.ts";
import type { Interrupts } from "./interrupts.ts";
import { prepareInterruptibly } from "./prepare-interruptibly.ts";
import { printProblems } from "./print-error.ts";
import { readOrigin, type OriginOptions } from "./run-origin.ts";
import type { RunReporter } from "./run-reporter.ts";
import type { RunStore } from "../store/run-store.ts";

/** A job that the command line wants to run, and how it is told of. */
export interface ReportedRun {
  readonly job: Job;
  readonly selection: TaskSelection;
  readonly quiet: boolean;
  readonly reporter: RunReporter;
  readonly interrupts: Interrupts;
  readonly origin: OriginOptions;
  /** Where the job registers itself, beside its directory. Default: nowhere. */
  readonly registry?: RunStore | undefined;
}

/** A job that is ready to run and can be told of. */
export interface ReadyRun extends AsyncDisposable {
  readonly prepared: PreparedJob;
  /** Runs it, from the start or as an earlier one is taken up again. */
  run(session: PlannedSession | null): Promise<JobRun>;
}

/** Prepares a job and prints what is wrong with its tasks. */
export async function prepareReported(wish: ReportedRun, context: CliContext): Promise<ReadyRun> {
  const { host, clock, terminal } = context;
  const reading = readOrigin(wish.origin, context);
  const { quiet, reporter } = wish;
  const { signal, forceSignal } = wish.interrupts;
  const runId = randomUUID();
  const prepared = await prepareInterruptibly(wish.job, {
    host,
    clock,
    signal,
    log: silentLog,
    runId,
    selection: wish.selection,
    loadProvider: loadProviderModule,
    onProgress: (line) => quiet || terminal.err(`${line}\n`),
  });
  if (!quiet) printProblems(prepared.taskProblems, terminal, host.cwd);
  const { onEvent } = reporter;
  const onLog = (entry: { readonly level: string; readonly message: string }): void =>
    reporter.say(`${entry.level}: ${entry.message}`);
  return {
    prepared,
    async run(session) {
      const origin = await reading;
      const { registry } = wish;
      const options = { runId, host, clock, signal, forceSignal, session, onEvent, onLog, origin, registry };
      return await runPreparedJob(prepared, options);
    },
    [Symbol.asyncDispose]: () => prepared[Symbol.asyncDispose](),
  };
}
