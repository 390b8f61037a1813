import { appendFileSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import type { ProcessOwner } from "../../../base/process-owner.ts";
import type { Unit } from "../../../store/run.ts";
import { compactRun } from "../../output/compact-run.ts";
import type { JobStartedLine, JournalLine } from "../../output/job-journal.ts";
import { jobPaths } from "../../output/job-paths.ts";
import type { TrialResultFile } from "../../output/trial-result-schema.ts";
import { JournalState } from "../journal-state.ts";
import { runOfJournal } from "../run-of-journal.ts";

/** A job directory that a test writes by hand, as a job would. */
export class JobFiles {
  readonly #paths;
  readonly #started: JobStartedLine;

  private constructor(dir: string, started: JobStartedLine) {
    this.#paths = jobPaths(dir);
    this.#started = started;
  }

  /** Creates the directory with a journal that has its first line. */
  static create(dir: string, started: JobStartedLine): JobFiles {
    const files = new JobFiles(dir, started);
    mkdirSync(files.#paths.own, { recursive: true });
    files.append([started]);
    return files;
  }

  append(lines: readonly JournalLine[]): void {
    appendFileSync(this.#paths.journal, lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
  }

  /** Makes the directory belong to a process. */
  claim(owner: ProcessOwner): void {
    mkdirSync(this.#paths.claim, { recursive: true });
    writeFileSync(`${this.#paths.claim}/owner.json`, JSON.stringify({ ...owner, token: "01234567" }));
  }

  release(): void {
    rmSync(this.#paths.claim, { recursive: true });
  }

  /** Writes run.json for a job of which nothing has finished. */
  writeRun(status: "running" | "completed" | "cancelled"): void {
    const state = new JournalState();
    state.take(this.#started, { start: 0, end: 1 });
    const run = { ...runOfJournal(state, this.#started, "elsewhere"), status };
    writeFileSync(this.#paths.run, JSON.stringify(compactRun(run)));
  }
}

/** Returns the first line of a journal. The plan has `taskCount` tasks in the dataset `tasks`. */
export function startedLine(taskCount: number, changes: Partial<JobStartedLine> = {}): JobStartedLine {
  return {
    type: "job_started",
    schema_version: 1,
    run_id: "run-1",
    job_id: "run-1",
    session: 1,
    job_name: "job",
    job_file: null,
    base_dir: "/",
    started_at: "2025-01-15T10:30:00.000Z",
    pid: 1,
    hostname: "host",
    boot_id: "boot",
    start_ticks: null,
    earlier_sessions: [],
    n_concurrent_trials: 4,
    metrics: ["mean"],
    has_verifier: true,
    agents: ["echo"],
    tasks: Array.from({ length: taskCount }, (_, n) => ({ dataset: "tasks", task: `task-${n}` })),
    n_attempts: 1,
    selection: null,
    accepted_changes: [],
    warnings: [],
    datasets: [{ name: "tasks", version: null }],
    description: null,
    tags: {},
    git: null,
    rollout_version: "0.0.0",
    ...changes,
  };
}

/** Returns the result of the trial that a unit stands for. Its name comes from the labels. */
export function toResult(unit: Unit): TrialResultFile {
  const { labels, failure, usage, spendUsd, durationSec, startedAt, endedAt } = unit;
  const phaseSec = (name: string): number | null =>
    unit.phases.find((phase) => phase.name === name)?.durationSec ?? null;
  const cancelled = { type: "trial_cancelled", message: "cancelled", phase: null, cause: "cancelled" };
  const error = unit.status === "cancelled" ? cancelled : failure;
  return {
    task_name: labels["task"] ?? "",
    dataset_name: labels["dataset"] ?? "",
    agent_name: labels["agent"] ?? "",
    attempt: Number(labels["attempt"]),
    task_git_commit_id: null,
    reward: unit.scores[0]?.value ?? null,
    cost: spendUsd === null ? null : spendUsd - (usage?.costUsd ?? 0),
    error: error as TrialResultFile["error"],
    durations: {
      total_sec: durationSec,
      environment_setup_sec: phaseSec("environment_setup"),
      agent_setup_sec: phaseSec("agent_setup"),
      agent_execution_sec: phaseSec("agent_execution"),
      verifier_sec: phaseSec("verifier"),
    },
    timestamps: {
      started_at: new Date(startedAt).toISOString(),
      environment_setup_started_at: null,
      environment_setup_ended_at: null,
      agent_setup_started_at: null,
      agent_setup_ended_at: null,
      agent_execution_started_at: null,
      agent_execution_ended_at: null,
      verifier_started_at: null,
      verifier_ended_at: null,
      ended_at: new Date(endedAt ?? startedAt).toISOString(),
    },
    agent_setup_cached: false,
    trial_id: "00000000-0000-4000-8000-000000000000",
    tries: unit.tries,
    warnings: unit.warnings,
    untrusted: unit.untrusted,
    agent_usage: usage && {
      cost_usd: usage.costUsd,
      input_tokens: usage.inputTokens,
      output_tokens: usage.outputTokens,
    },
    task: { source: null, metadata: {}, dataset_version: null },
    inputs: { task: null, agent: null, environment: null, settings: null },
    environment: null,
    leftovers: [],
    teardown: null,
  };
}
