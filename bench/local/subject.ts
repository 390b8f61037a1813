import { readFileSync } from "node:fs";
import { join } from "node:path";
import { systemClock } from "../../src/base/clock.ts";
import { readHost } from "../../src/base/host.ts";
import { silentLog } from "../../src/base/log.ts";
import { noSecrets } from "../../src/base/redactor.ts";
import { readRecord } from "../../src/environments/local/environment-records.ts";
import { localProviderModule, planGround } from "../../src/environments/local/local-provider.ts";
import { openFloor, type Floor } from "./floor.ts";
import { readMemoryShare } from "./measure.ts";

/** What is learned from one environment of the provider: its memory while nothing runs in it, and the floor below it. */
export interface Subject extends AsyncDisposable {
  readonly idle: { readonly processes: number; readonly bytes: number };
  /** Null for who is not root: copies then go another way. */
  readonly floor: Floor | null;
}

/** Starts an environment, looks at it and removes it. */
export async function openSubject(taskDirectory: string): Promise<Subject> {
  const host = readHost(process);
  const { signal } = new AbortController();
  const shared = { config: {}, baseDir: host.cwd, host, clock: systemClock };
  const provider = await localProviderModule.open({
    ...shared,
    timeoutMultiplier: 1,
    redactor: noSecrets,
    log: silentLog,
    signal,
  });
  const ground = planGround(shared);
  const limits = { cpus: 1, memoryBytes: 2 ** 31, storageBytes: 10 * 2 ** 30 };
  const request = { image: "base", name: "bench", limits, place: [], labels: {}, signal };
  const environment = await provider.createEnvironment(request);
  try {
    const record = readRecord(join(ground.layout.environments, environment.id));
    if (!record?.first) throw new Error("the environment has no record of its first process");
    const idle = readMemoryShare(readParent(record.first.pid));
    const directory = join(ground.layout.root, `bench-${host.pid}`);
    const floor =
      ground.idMap.kind !== "private" ? null : openFloor({ ...ground, directory, record, limits, taskDirectory });
    return {
      idle,
      floor,
      async [Symbol.asyncDispose]() {
        floor?.[Symbol.dispose]();
        await provider[Symbol.asyncDispose]();
      },
    };
  } finally {
    await environment.destroy(signal);
  }
}

// The process that waits for the first one belongs to the sandbox, too.
function readParent(pid: number): number {
  return Number(/^PPid:\s+(\d+)$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]);
}
