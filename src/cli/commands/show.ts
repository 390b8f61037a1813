import { existsSync } from "node:fs";
import { open, readFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { plainJson } from "../../base/plain-json.ts";
import type { Clock } from "../../base/clock.ts";
import type { Host } from "../../base/host.ts";
import { RolloutError } from "../../base/rollout-error.ts";
import { shellWord, shownPath } from "../../base/shown-path.ts";
import { plainText } from "../../base/terminal-text.ts";
import { jobShape } from "../../jobs/describe-run.ts";
import { jobPaths } from "../../jobs/output/job-paths.ts";
import { readJob, readTrial, type JobRecord } from "../../jobs/output/read-job.ts";
import { toUnit, type TrialResultFile } from "../../jobs/output/trial-result-schema.ts";
import { costText, countText, durationFormat, markText } from "../../report/number-text.ts";
import { RunTally } from "../../report/run-tally.ts";
import type { PlannedGroup, RunHead, RunTail } from "../../store/run.ts";
import type { CliContext } from "../cli-context.ts";
import { exitCodes } from "../exit-codes.ts";
import { isJobAlive } from "../job-life.ts";
import { nextOfJob } from "../next-of-job.ts";
import { showExperimentDirectory, showStoredExperiment } from "../experiment/show-experiment.ts";
import { findRun } from "../find-run.ts";
import { openNamedStore } from "../open-store.ts";
import { printSummary } from "../run-reporter.ts";
import { showRun, type ShowRunOptions } from "../show-run.ts";

/** `rollout show`: a job's summary, or all there is to know about one trial. */
export async function showCommand(directory: string, options: ShowRunOptions, context: CliContext): Promise<number> {
  const { host, terminal, clock } = context;
  const dir = resolve(host.cwd, options.outputDir ?? "", directory);
  if (!existsSync(dir) && options.outputDir !== undefined)
    throw new RolloutError("not_found", `there is no experiment "${directory}" in ${options.outputDir}`, {
      hint: `\`rollout experiment list --output-dir ${shellWord(options.outputDir)}\` lists them`,
    });
  if (!existsSync(dir)) return await showStoredRun(directory, options, context);
  const trial = await readTrial(dir);
  if (trial) {
    terminal.out(options.json ? `${plainJson(trial, 2)}\n` : await describeTrial(dir, trial, host.cwd));
    return exitCodes.done;
  }
  const shownExperiment = await showExperimentDirectory(dir, options, context);
  if (shownExperiment !== null) return shownExperiment;
  const job = await readJob(dir);
  if (options.json) {
    terminal.out(
      `${plainJson({ schema_version: 1, job_dir: dir, has_ended: job.hasEnded, result: job.result, trials: job.trials }, 2)}\n`,
    );
    return exitCodes.done;
  }
  if (!job.hasEnded) terminal.out(`${describeUnfinished(job, host)}\n\n`);
  const tally = new RunTally(jobShape(job.started.has_verifier));
  for (const result of job.trials) tally.add(toUnit(result));
  for (const warning of job.result.warnings) tally.addWarning(warning);
  const isRunning = !job.hasEnded && isJobAlive(job, host);
  const { command, notes } = isRunning ? { command: null, notes: [] } : await nextOfJob(job, host.cwd);
  const next = [
    ...(command === null ? [] : [command]),
    ...(isGone(job, host) ? ["rollout clean"] : []),
    ...worthALook(job, directory),
  ];
  printSummary(terminal, headOf(job, host.cwd), tally, { ...tailOf(job, next, elapsedSec(job, host, clock)), notes });
  return exitCodes.done;
}

/** What is no directory may be a run in the store. */
async function showStoredRun(word: string, options: ShowRunOptions, context: CliContext): Promise<number> {
  const explain =
    (hint: string | undefined) =>
    (error: unknown): never => {
      if (!(error instanceof RolloutError) || error.code !== "not_found") throw error;
      const message = `${word} does not exist, and ${error.message}`;
      throw new RolloutError("not_found", message, { hint: hint ?? error.hint, cause: error });
    };
  // How to make a store is no help to somebody who may have meant a directory.
  const opened = openNamedStore(options.store, "read", context);
  await using store = await opened.catch(explain("--store names another store"));
  const run = await findRun(store, word).catch(explain(undefined));
  return await (run.kind === "experiment" ? showStoredExperiment : showRun)(store, run, options, context);
}

function describeUnfinished({ dir, started, trials, plan }: JobRecord, host: Host): string {
  const finished = `${trials.length} of ${countText(plan.length, "trial")} finished.`;
  const { pid, hostname } = started;
  if (hostname !== host.hostname)
    return `This job has not ended. It was started by process ${pid} on ${hostname}. ${finished}`;
  return isJobAlive({ started }, host)
    ? `This job is ${existsSync(jobPaths(dir).pause) ? "paused" : "running"}: process ${pid}. ${finished}`
    : `This job did not end: its process ${pid} is gone. ${finished} What it may have left running is removed by \`rollout clean\`, and by the next job.`;
}

// Of a process on another machine nobody here knows.
function isGone({ hasEnded, started }: JobRecord, host: Host): boolean {
  return !hasEnded && started.hostname === host.hostname && !isJobAlive({ started }, host);
}

function headOf({ started, plan, dir }: JobRecord, cwd: string): RunHead {
  const totals = new Map<string, PlannedGroup>();
  for (const { agentName, datasetName } of plan) {
    const key = `${agentName}\0${datasetName}`;
    totals.set(key, { labels: { agent: agentName, dataset: datasetName }, total: (totals.get(key)?.total ?? 0) + 1 });
  }
  return {
    id: started.run_id,
    kind: "job",
    name: started.job_name,
    total: plan.length,
    groups: [...totals.values()],
    concurrency: started.n_concurrent_trials,
    shape: jobShape(started.has_verifier),
    metrics: started.metrics,
    location: shownPath(dir, cwd),
  };
}

// A job that runs is as old as it is; of one whose process died only its last sign is known.
function elapsedSec({ started, hasEnded, result }: JobRecord, host: Host, clock: Clock): number {
  const isRunning = !hasEnded && started.hostname === host.hostname && isJobAlive({ started }, host);
  if (!isRunning) return result.total_duration_sec;
  const earlierSec = started.earlier_sessions.reduce((sum, { duration_sec: sec }) => sum + sec, 0);
  return earlierSec + (clock.now() - Date.parse(started.started_at)) / 1000;
}

function worthALook({ trials }: JobRecord, directory: string): string[] {
  const worst =
    trials.find((trial) => trial.error) ?? trials.find((trial) => trial.reward !== null && trial.reward < 1);
  return worst ? [`rollout show ${shellWord(join(directory, toUnit(worst).key))}`] : [];
}

function tailOf({ result, hasEnded, trials, plan }: JobRecord, next: readonly string[], durationSec: number): RunTail {
  return {
    status: !hasEnded
      ? "unfinished"
      : result.cancelled
        ? "cancelled"
        : result.stopped_by_budget
          ? "budget_exhausted"
          : "completed",
    skipped: hasEnded ? result.skipped_trials : plan.length - trials.length,
    durationSec,
    sessions: result.sessions.length,
    next,
  };
}

function describeTimes(totalSec: number, phases: readonly (readonly [string, number | null])[]): string {
  const reached = phases.flatMap(([name, sec]) => (sec === null ? [] : [[name, sec] as const]));
  if (reached.length === 0) return "no phase was reached";
  const format = durationFormat([totalSec, ...reached.map(([, sec]) => sec)]);
  const missing = phases.filter(([, sec]) => sec === null).map(([name]) => name);
  const parts = reached.map(([name, sec]) => `${name} ${format(sec)}`);
  return `${format(totalSec)}: ${parts.join(", ")}${missing.length > 0 ? `; not reached: ${missing.join(", ")}` : ""}`;
}

// What a person can do about an error, and where more of it stands, is in error.txt alone.
async function readAdvice(dir: string, cwd: string): Promise<string[]> {
  const text = await readFile(join(dir, "error.txt"), "utf8").catch(() => "");
  // A trial lies three folders deep in its job.
  const jobDir = resolve(dir, "..", "..", "..");
  const advice = text.split("\n").flatMap((line) => {
    const log = /^log: (.+)$/.exec(line)?.[1];
    if (log !== undefined) return [`log: ${shellWord(shownPath(join(jobDir, log), cwd))}`];
    return line.startsWith("hint: ") ? [line] : [];
  });
  return [...new Set(advice)];
}

async function describeTrial(dir: string, trial: TrialResultFile, cwd: string): Promise<string> {
  const { durations: time, error } = trial;
  const phases = [
    ["environment", time.environment_setup_sec],
    [trial.agent_setup_cached ? "setup (cached)" : "setup", time.agent_setup_sec],
    ["agent", time.agent_execution_sec],
    ["verifier", time.verifier_sec],
  ] as const;
  const facts: [string, string][] = [
    ["agent", trial.agent_name],
    [
      "task",
      `${trial.dataset_name}/${trial.task_name} #${trial.attempt}${trial.task.source ? `, from ${trial.task.source}` : ""}`,
    ],
    ["reward", trial.reward === null ? "none" : markText(trial.reward)],
    ["time", describeTimes(time.total_sec, phases)],
    ["cost", trial.cost === null ? "unknown" : costText(trial.cost)],
    ["commit", trial.task_git_commit_id ?? "not in a Git repository"],
    ["metadata", Object.keys(trial.task.metadata).length > 0 ? JSON.stringify(trial.task.metadata) : "none"],
  ];
  const usage = trial.agent_usage;
  if (usage) {
    const tokens = [
      ["in", usage.input_tokens],
      ["out", usage.output_tokens],
    ].flatMap(([name, count]) => (count === null ? [] : [`${count} tokens ${name}`]));
    facts.push([
      "agent says",
      [usage.cost_usd === null ? "cost unknown" : costText(usage.cost_usd), ...tokens].join(", "),
    ]);
  }
  if (trial.tries > 1) facts.push(["tries", `${trial.tries}; the earlier ones are in ${join(dir, "retries")}`]);
  if (trial.leftovers.length > 0)
    facts.push(["left running", trial.leftovers.map((process) => process.command).join("; ")]);
  for (const kept of trial.teardown?.kept ?? [])
    facts.push(["kept", `${kept.id}${kept.enter ? `; enter it with: ${kept.enter}` : ""}`]);
  const lines = facts.map(([name, value]) => `${name.padEnd(13)}${value}`);
  if (error)
    lines.push(
      "",
      `${error.type}, to blame: ${error.blame}`,
      ...error.message.split("\n").map((line) => `  ${line}`),
      ...(await readAdvice(dir, cwd)).map((line) => `  ${line}`),
    );
  for (const warning of trial.warnings) lines.push(`warning: ${warning}`);
  for (const name of [
    "setup/stderr.txt",
    "command/stdout.txt",
    "command/stderr.txt",
    "logs/verifier/stdout.txt",
    "logs/verifier/stderr.txt",
  ])
    lines.push(...(await describeEnd(dir, name)));
  return `${lines.map(plainText).join("\n")}\n`;
}

// Lines are as long as whoever printed them likes.
const longestLine = 500;
const endBytes = 64 * 1024;

async function describeEnd(dir: string, name: string): Promise<string[]> {
  const { text, isWhole } = await readEnd(join(dir, name)).catch(() => ({ text: "", isWhole: true }));
  const lines = text.trimEnd().split("\n");
  if (text.trim() === "") return [];
  const count = isWhole ? `last 8 of ${lines.length} lines` : "its end";
  return [
    "",
    `${name}${lines.length > 8 || !isWhole ? ` (${count})` : ""}`,
    ...lines.slice(-8).map((line) => `  ${line.length > longestLine ? `…${line.slice(-longestLine)}` : line}`),
  ];
}

async function readEnd(path: string): Promise<{ readonly text: string; readonly isWhole: boolean }> {
  await using file = await open(path, "r");
  const { size } = await file.stat();
  const from = Math.max(0, size - endBytes);
  const { buffer, bytesRead } = await file.read(Buffer.alloc(size - from), 0, size - from, from);
  return { text: buffer.toString("utf8", 0, bytesRead), isWhole: from === 0 };
}
