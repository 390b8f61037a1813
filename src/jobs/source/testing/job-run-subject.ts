import { spawn, type ChildProcess } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { join } from "node:path";
import { systemClock } from "../../../base/clock.ts";
import { readHost } from "../../../base/host.ts";
import { readOwner } from "../../../base/process-owner.ts";
import type { RunSourceAbility, RunSourceSubject, SubjectRun } from "../../../store/conformance/run-source-case.ts";
import type { Unit } from "../../../store/run.ts";
import type { JournalLine } from "../../output/job-journal.ts";
import { toUnit } from "../../output/trial-unit.ts";
import { openJobSource } from "../open-job-source.ts";
import { JobFiles, startedLine, toResult } from "./job-files.ts";

/** Abilities of a source that reads job directories. */
export const jobAbilities: readonly RunSourceAbility[] = ["rewrites", "run_facts"];

const firstCreatedAt = Date.parse("2025-01-15T10:30:00Z");

/** Makes a subject of a directory. Each job belongs to a process of its own and has a plan of `taskCount` tasks. */
export function jobRunSubject(root: string, taskCount: number): RunSourceSubject & AsyncDisposable {
  const host = readHost(process);
  const processes: ChildProcess[] = [];
  return {
    source: openJobSource({ roots: [root], host, clock: systemClock }),
    maxUnits: taskCount,
    expected: (unit) => toUnit(toResult(unit), unit.index),
    async openRun({ run: facts = {}, units = [] } = {}): Promise<SubjectRun> {
      const worker = spawn("sleep", ["3600"], { stdio: "ignore" });
      processes.push(worker);
      await once(worker, "spawn");
      const id = randomUUID();
      const createdAt = facts.createdAt ?? firstCreatedAt + 1000 * processes.length;
      const files = JobFiles.create(
        join(root, id),
        startedLine(taskCount, {
          run_id: id,
          job_id: id,
          job_name: facts.name ?? "job",
          started_at: new Date(createdAt).toISOString(),
          agents: facts.targets ?? ["echo"],
          tags: facts.tags ?? {},
        }),
      );
      files.claim(readOwner({ ...host, pid: worker.pid ?? 0 }));
      files.writeRun("running");
      const written = new Set<number>();
      const write = async (more: readonly Unit[]): Promise<void> =>
        files.append(more.flatMap((unit) => linesOf(unit, written)));
      await write(units);
      return {
        id,
        write,
        async finish(status = "completed") {
          const isCancelled = status === "cancelled";
          files.append([endedLine(createdAt + 60_000, isCancelled)]);
          files.writeRun(isCancelled ? "cancelled" : "completed");
          files.release();
        },
        kill: () => end(worker),
      };
    },
    async [Symbol.asyncDispose]() {
      await Promise.all(processes.map(end));
    },
  };
}

function linesOf(unit: Unit, written: Set<number>): JournalLine[] {
  const { index } = unit;
  const result = toResult(unit);
  const { error, warnings } = result;
  const reopened: readonly JournalLine[] = written.has(index) ? [{ type: "trial_reopened", index }] : [];
  written.add(index);
  const teardown = { duration_sec: 1, kept: [] };
  return [
    ...reopened,
    { type: "trial_finished", index, result },
    { type: "trial_torn_down", index, error, warnings, teardown, artifact_count: 0 },
  ];
}

function endedLine(endedAt: number, isCancelled: boolean): JournalLine {
  return {
    type: "job_ended",
    ended_at: new Date(endedAt).toISOString(),
    duration_sec: 60,
    cancelled: isCancelled,
    stopped_by_budget: false,
    skipped: [],
    warnings: [],
  };
}

async function end(worker: ChildProcess): Promise<void> {
  if (worker.exitCode !== null || worker.signalCode !== null) return;
  const exit = once(worker, "exit");
  worker.kill("SIGKILL");
  await exit;
}
