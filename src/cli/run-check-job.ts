import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { silentLog } from "../base/log.ts";
import { raceWithSignal } from "../engine/race-with-signal.ts";
import { loadProviderModule } from "../environments/registry.ts";
import type { CheckedTask, CheckedTrial } from "../jobs/check/task-verdict.ts";
import type { Job } from "../jobs/config/job.ts";
import { trialKey } from "../jobs/output/job-paths.ts";
import { readJob } from "../jobs/output/read-job.ts";
import { runPreparedJob, type JobRun } from "../jobs/run-job.ts";
import type { TaskSelection } from "../jobs/tasks/select-tasks.ts";
import type { Dataset } from "../jobs/tasks/task.ts";
import type { CliContext } from "./cli-context.ts";
import type { Interrupts } from "./interrupts.ts";
import { prepareInterruptibly } from "./prepare-interruptibly.ts";
import { printEnvironments } from "./print-environments.ts";
import { printProblems } from "./print-error.ts";
import type { RunReporter } from "./run-reporter.ts";

export interface CheckJobRequest {
  readonly job: Job;
  readonly selection: TaskSelection;
  readonly quiet: boolean;
  readonly reporter: RunReporter;
  readonly interrupts: Interrupts;
}

/** What a job of a check left to judge by. */
export interface CheckJobEnd {
  readonly run: JobRun;
  readonly environmentName: string;
  /** Whether its environments can be without a network. */
  readonly canCutNetwork: boolean;
  readonly tasks: readonly CheckedTask[];
  readonly trials: readonly CheckedTrial[];
}

/** Runs one job of a check as `rollout run` would, and reads back what is on disk of it. */
export async function runCheckJob(request: CheckJobRequest, context: CliContext): Promise<CheckJobEnd> {
  const { host, clock, terminal } = context;
  const { reporter, quiet } = request;
  const { signal, forceSignal } = request.interrupts;
  const runId = randomUUID();
  await using prepared = await prepareInterruptibly(request.job, {
    host,
    clock,
    signal,
    log: silentLog,
    runId,
    selection: request.selection,
    loadProvider: loadProviderModule,
    onProgress: (line) => quiet || terminal.err(`${line}\n`),
  });
  if (!quiet) printProblems(prepared.taskProblems, terminal, host.cwd);
  await raceWithSignal(prepared.probe(), signal, () => {});
  const run = await runPreparedJob(prepared, {
    runId,
    host,
    clock,
    signal,
    forceSignal,
    sitting: null,
    onEvent: reporter.onEvent,
    onLog: (entry) => reporter.say(`${entry.level}: ${entry.message}`),
  });
  printEnvironments(run, prepared.provider, quiet, terminal);
  return {
    run,
    environmentName: prepared.provider.name,
    canCutNetwork: prepared.provider.capabilities.network.includes("none"),
    tasks: prepared.datasets.flatMap(checkedTasks),
    trials: run.unwritten === null ? await readTrials(run.dir) : [],
  };
}

function checkedTasks(dataset: Dataset): CheckedTask[] {
  return dataset.tasks.map((task) => ({
    datasetName: dataset.name,
    taskName: task.name,
    isOutOfReach: task.status === "broken" && task.transient,
  }));
}

async function readTrials(dir: string): Promise<CheckedTrial[]> {
  const { trials } = await readJob(dir);
  return trials.map((result) => ({
    dir: join(dir, trialKey(result.agent_name, result.dataset_name, result.task_name, result.attempt)),
    result,
  }));
}
