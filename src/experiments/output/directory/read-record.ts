import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import type { Clock } from "../../../base/clock.ts";
import type { Host } from "../../../base/host.ts";
import type { JsonObject } from "../../../base/json.ts";
import { readHolder } from "../../../base/process-lock.ts";
import { isOwnerAlive } from "../../../base/process-owner.ts";
import type { RunRecord } from "../../../store/run-store.ts";
import { readConfig } from "./config-file.ts";

interface RecordGround {
  readonly host: Host;
  readonly clock: Clock;
}

/** What is known of the experiment in a directory; null when there is none. */
export async function readRecord(directory: string, { host, clock }: RecordGround): Promise<RunRecord | null> {
  const config = await readConfig(directory);
  if (config === null) return null;
  const summaryPath = join(directory, "summary.json");
  const summary = (JSON.parse(await readFile(summaryPath, "utf8").catch(() => "null")) ?? null) as JsonObject | null;
  const error = await readFile(join(directory, "error.txt"), "utf8").catch(() => null);
  const isUnderWay = summary === null || summary["status"] === "running";
  const endedAt = isUnderWay ? null : await stat(summaryPath).then(({ mtimeMs }) => mtimeMs);
  const holder = await readHolder(join(directory, ".lock"));
  const count = (name: string): number => Number(summary?.[name] ?? 0);
  const isComplete = summary?.["status"] === "completed";
  const left = count("failed_runs") + count("skipped_runs") + count("failed_evaluations");
  return {
    ...config.plan,
    status: isComplete ? "completed" : !isUnderWay || error !== null ? "failed" : "running",
    isFinished: isComplete && left + failedAggregates(summary) === 0,
    succeeded: count("successful_runs"),
    failed: count("failed_runs"),
    error: error?.trimEnd() ?? null,
    summary,
    isHeld: holder !== null && isOwnerAlive(holder.owner, host, clock.now() - holder.since),
    holder: holder?.owner ?? null,
    createdAt: config.startedAt,
    endedAt,
  };
}

function failedAggregates(summary: JsonObject | null): number {
  const aggregates = summary?.["aggregates"];
  const list = Array.isArray(aggregates) ? (aggregates as JsonObject[]) : [];
  return list.filter(({ error }) => typeof error === "string").length;
}
