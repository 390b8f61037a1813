import { randomUUID } from "node:crypto";
import { join } from "node:path";
import type { Host } from "../../base/host.ts";
import { isAlive, listFolders, markProcess } from "./environment-records.ts";

/** A folder beside a target that is this process's alone: its name tells which one. */
export function planOwnFolder(target: string, host: Pick<Host, "pid" | "bootId">): string {
  const startTicks = markProcess(host.pid, host)?.startTicks ?? 0;
  return `${target}.${host.pid}-${startTicks}-${randomUUID().slice(0, 8)}`;
}

/** The folders of processes that are gone. */
export function findAbandonedFolders(directory: string, { bootId }: Pick<Host, "bootId">): string[] {
  return listFolders(directory).flatMap((name) => {
    const [, pid, startTicks] = /\.(\d+)-(\d+)-[0-9a-f]{8}$/.exec(name) ?? [];
    if (pid === undefined) return [];
    const isUsed = isAlive({ pid: Number(pid), startTicks: Number(startTicks), bootId }, { bootId });
    return isUsed ? [] : [join(directory, name)];
  });
}
