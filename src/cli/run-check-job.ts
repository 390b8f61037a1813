import { join } from "node:path";
import { raceWithSignal } from "../engine/race-with-signal.ts";
import type { CheckedTask, CheckedTrial } from "../jobs/check/task-verdict.ts";
import { trialKey } from "../jobs/output/job-paths.ts";
import { readJob } from "../jobs/output/read-job.ts";
import type { JobRun } from "../jobs/job-run.ts";
import type { Dataset } from "../jobs/tasks/task.ts";
import type { CliContext } from "./cli-context.ts";
import { printEnvironments } from "./print-environments.ts";
import { prepareReported, type ReportedRun } from "./run-reported.ts";

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
export async function runCheckJob(request: ReportedRun, context: CliContext): Promise<CheckJobEnd> {
  await using ready = await prepareReported(request, context);
  const { prepared } = ready;
  await raceWithSignal(prepared.probe(), request.interrupts.signal, () => {});
  const run = await ready.run(null);
  printEnvironments(run, prepared.provider, request.quiet, context.terminal);
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
