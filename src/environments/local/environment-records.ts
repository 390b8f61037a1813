import { existsSync, readdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import type { Host } from "../../base/host.ts";
import { readStartTicks } from "../../base/process-start.ts";
import { systemCodeOf } from "../../base/rollout-error.ts";

const processSchema = z.object({ pid: z.number().int().positive(), startTicks: z.number(), bootId: z.string() });

const recordSchema = z.object({
  format: z.literal(1),
  id: z.string(),
  labels: z.record(z.string(), z.string()),
  owner: processSchema,
  /** The first process of the sandbox, as the host counts. */
  first: processSchema.nullable(),
  state: z.enum(["running", "kept"]),
  groups: z.array(z.string()),
  image: z.string(),
  /** What the file system is made of, so that it can be mounted again. */
  base: z.object({
    kind: z.enum(["host", "rootfs"]),
    description: z.string(),
    key: z.string(),
    overlays: z.array(z.object({ path: z.string(), hostDirectory: z.string().nullable() })),
  }),
  layers: z.array(z.object({ key: z.string(), parts: z.array(z.string()) })),
  toolbox: z.string(),
  env: z.record(z.string(), z.string()),
  workdir: z.string(),
});

/** What is written about an environment, for other processes and later ones. */
export type EnvironmentRecord = z.infer<typeof recordSchema>;

/** A process that can be told from a later one with the same id. */
export type ProcessMark = z.infer<typeof processSchema>;

const fileName = "record.json";

/** Writes a record into the folder of its environment, whole or not at all. */
export function writeRecord(directory: string, record: EnvironmentRecord): void {
  const file = join(directory, fileName);
  writeFileSync(`${file}.new`, JSON.stringify(record), { mode: 0o600 });
  renameSync(`${file}.new`, file);
}

/** The record in a folder; null when there is none that can be read. */
export function readRecord(directory: string): EnvironmentRecord | null {
  try {
    return recordSchema.parse(JSON.parse(readFileSync(join(directory, fileName), "utf8")));
  } catch {
    return null;
  }
}

/** Whether a folder has a record, readable or not. */
export function hasRecord(directory: string): boolean {
  return existsSync(join(directory, fileName));
}

/** The names of all folders in a place, of which there may be none yet. */
export function listFolders(place: string): string[] {
  try {
    return readdirSync(place);
  } catch (error) {
    if (systemCodeOf(error) === "ENOENT") return [];
    throw error;
  }
}

/** Marks a process of this machine; null when there is none of that id. */
export function markProcess(pid: number, host: Pick<Host, "bootId">): ProcessMark | null {
  const startTicks = readStartTicks(pid);
  return startTicks === null ? null : { pid, startTicks, bootId: host.bootId };
}

/** Whether that very process still lives. */
export function isAlive(mark: ProcessMark, host: Pick<Host, "bootId">): boolean {
  return mark.bootId === host.bootId && readStartTicks(mark.pid) === mark.startTicks;
}
