import { randomUUID } from "node:crypto";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import type { Host } from "../../base/host.ts";
import { isAlive, markProcess } from "./environment-records.ts";

/** A folder beside a target in which it is made; its name tells which process makes it. */
export function planStaging(target: string, host: Pick<Host, "pid" | "bootId">): string {
  const startTicks = markProcess(host.pid, host)?.startTicks ?? 0;
  return `${target}.${host.pid}-${startTicks}-${randomUUID().slice(0, 8)}`;
}

/** The folders that processes were filling when they were killed. */
export function findAbandonedStagings(directory: string, { bootId }: Pick<Host, "bootId">): string[] {
  return readdirSync(directory).flatMap((name) => {
    const [, pid, startTicks] = /\.(\d+)-(\d+)-[0-9a-f]{8}$/.exec(name) ?? [];
    if (pid === undefined) return [];
    const isUsed = isAlive({ pid: Number(pid), startTicks: Number(startTicks), bootId }, { bootId });
    return isUsed ? [] : [join(directory, name)];
  });
}
