import { existsSync } from "node:fs";
import { join } from "node:path";
import { toPathSegment } from "../../base/path-segment.ts";
import { plainJson } from "../../base/plain-json.ts";
import { silentLog } from "../../base/log.ts";
import { formatBytes } from "../../base/quantity.ts";
import { shownPath } from "../../base/shown-path.ts";
import { countText } from "../../report/number-text.ts";
import { plainText } from "../../base/terminal-text.ts";
import type { ImagePlan } from "../../environments/environment.ts";
import { loadProviderModule } from "../../environments/registry.ts";
import { budgetLines, budgetOf } from "../../jobs/describe-run.ts";
import type { PreparedJob } from "../../jobs/prepare-job.ts";
import { planResources } from "../../jobs/trial/limits.ts";
import type { CliContext } from "../cli-context.ts";
import { exitCodes } from "../exit-codes.ts";
import { listenToInterrupts } from "../interrupts.ts";
import type { JobOptions } from "../job-options.ts";
import { prepareInterruptibly } from "../prepare-interruptibly.ts";
import { printProblems } from "../print-error.ts";
import { readJobArguments, selectionOf } from "../read-job-arguments.ts";

export interface PlanOptions extends JobOptions {
  readonly json?: boolean;
}

/** `rollout plan`: shows what would run and starts nothing. */
export async function planCommand(
  paths: readonly string[],
  options: PlanOptions,
  context: CliContext,
): Promise<number> {
  const { host, clock, terminal } = context;
  const job = await readJobArguments(paths, options, host);
  using interrupts = listenToInterrupts(
    context.process,
    () => {},
    () => {},
  );
  await using prepared = await prepareInterruptibly(job, {
    host,
    clock,
    signal: interrupts.signal,
    log: silentLog,
    runId: "plan",
    selection: selectionOf(options),
    loadProvider: loadProviderModule,
    onProgress: (line) => terminal.err(`${line}\n`),
  });
  const plan = describePlan(prepared);
  if (options.json) terminal.out(`${plainJson({ schema_version: 1, ...plan }, 2)}\n`);
  else {
    printProblems(prepared.taskProblems, terminal, host.cwd);
    terminal.out(renderPlan(plan, budgetLines(prepared, null), host.cwd));
  }
  return exitCodes.done;
}

interface TaskPlan {
  readonly dataset: string;
  readonly task: string;
  readonly source: string | null;
  readonly category: string | null;
  readonly tags: readonly string[];
  readonly image: string;
  readonly limits: string;
  /** What keeps its trials from starting, by agent; `*` stands for all. */
  readonly refused: Readonly<Record<string, string>>;
}

interface PlanDescription {
  readonly environment: string;
  readonly trials: number;
  readonly startable: number;
  readonly agents: readonly string[];
  readonly attempts: number;
  readonly concurrency: number;
  readonly containers: { readonly total: number; readonly at_once: number };
  readonly images: { readonly build: readonly string[]; readonly pull: readonly string[] };
  readonly budget: readonly { readonly name: string; readonly limit: number; readonly at_most: number | null }[];
  readonly jobs_dir: string;
  /** Null when the job has no name and gets one from the time. */
  readonly job_dir: string | null;
  readonly tasks: readonly TaskPlan[];
  readonly warnings: readonly string[];
}

function describePlan(prepared: PreparedJob): PlanDescription {
  const { job, trials, datasets } = prepared;
  const startable = trials.filter((trial) => !trial.refusal && trial.task.status === "ready");
  // The first task that needs an image gives it its name.
  const images = new Map(
    startable.toReversed().flatMap((trial) => (trial.image ? [[trial.image.key, trial.image] as const] : [])),
  );
  const perTrial = startable.map((trial) =>
    trial.task.status === "ready" &&
    (job.verifier.environment ?? trial.task.config.verifier.environment) === "separate" &&
    !job.verifier.disable
      ? 2
      : 1,
  );
  const total = perTrial.reduce((sum, count) => sum + count, 0);
  return {
    environment: prepared.provider.name,
    trials: trials.length,
    startable: startable.length,
    agents: job.agents.map((agent) => agent.name),
    attempts: job.nAttempts,
    concurrency: job.nConcurrentTrials,
    containers: { total, at_once: Math.min(total, job.nConcurrentTrials * Math.max(1, ...perTrial)) },
    images: {
      build: [...images.values()].filter((image) => image.kind === "build").map(imageName),
      pull: [...images.values()].filter((image) => image.kind === "pull").map(imageName),
    },
    budget: budgetOf(prepared, null).map(({ atMost, ...row }) => ({ ...row, at_most: atMost })),
    jobs_dir: job.jobsDir,
    job_dir: job.name === null ? null : join(job.jobsDir, toPathSegment(job.name)),
    tasks: datasets.flatMap((dataset) =>
      dataset.tasks.map((task): TaskPlan => {
        const own = trials.filter((trial) => trial.task === task && trial.attempt === 1);
        const reasons = own.flatMap((trial) =>
          trial.refusal ? [[trial.agent.name, trial.refusal.message] as const] : [],
        );
        const image = own.find((trial) => trial.image)?.image;
        const resources = task.status === "ready" ? planResources(job, task.config) : null;
        return {
          dataset: dataset.name,
          task: task.name,
          source: task.status === "ready" ? task.config.source : null,
          category: task.status === "ready" ? task.config.category : null,
          tags: task.status === "ready" ? task.config.tags : [],
          image: image ? `${image.kind} ${imageName(image)}` : "-",
          limits: resources
            ? `${resources.cpus} cpu, ${formatBytes(resources.memoryBytes)}, ${formatBytes(resources.storageBytes)} disk`
            : "-",
          refused: task.status === "broken" ? { "*": task.message } : Object.fromEntries(reasons),
        };
      }),
    ),
    warnings: prepared.warnings,
  };
}

function imageName(image: ImagePlan): string {
  return image.kind === "build" ? image.contextDir : image.ref;
}

function renderPlan(plan: PlanDescription, budget: readonly string[], cwd: string): string {
  const lines = [
    `${countText(plan.trials, "trial")} = ${countText(plan.agents.length, "agent")} x ${countText(plan.tasks.length, "task")} x ${countText(plan.attempts, "attempt")}, ${plan.concurrency} at once`,
    `agents       ${plan.agents.join(", ")}`,
    `environment  ${plan.environment}: ${countText(plan.containers.total, "environment")} in all, at most ${plan.containers.at_once} at once`,
    `images       ${plan.images.build.length} to build, ${plan.images.pull.length} to pull`,
    `results      ${describePlace(plan, cwd)}`,
    ...budget,
    "",
    ...plan.tasks.map((task) => `  ${task.dataset}/${task.task}  ${describeTask(task, cwd)}`),
  ];
  for (const task of plan.tasks) {
    for (const [agent, reason] of Object.entries(task.refused))
      lines.push(`cannot start: ${agent === "*" ? "" : `${agent} on `}${task.dataset}/${task.task}: ${reason}`);
  }
  for (const warning of plan.warnings) lines.push(`warning: ${warning}`);
  return `${lines.map(plainText).join("\n")}\n`;
}

function describePlace({ jobs_dir: jobsDir, job_dir: dir }: PlanDescription, cwd: string): string {
  if (dir === null) return `${shownPath(jobsDir, cwd)}/<date>__<time>`;
  const isTaken = existsSync(dir) ? ", which is there already: --resume goes on with it, --name chooses another" : "";
  return `${shownPath(dir, cwd)}${isTaken}`;
}

function describeTask(task: TaskPlan, cwd: string): string {
  const labels = [task.category, ...task.tags, task.source && `from ${task.source}`].filter(Boolean).join(", ");
  return [task.image.replace(`${cwd}/`, ""), task.limits, labels]
    .filter((part) => part !== "" && part !== "-")
    .join(" · ");
}
