import { readFileSync } from "node:fs";
import { join } from "node:path";
import { systemClock } from "../../src/base/clock.ts";
import { readHost } from "../../src/base/host.ts";
import { silentLog } from "../../src/base/log.ts";
import { noSecrets } from "../../src/base/redactor.ts";
import { readRecord, type EnvironmentRecord } from "../../src/environments/local/environment-records.ts";
import { localProviderModule, planGround } from "../../src/environments/local/local-provider.ts";
import { openFloor, type Floor } from "./floor.ts";
import { readMemoryShare } from "../trials/measure.ts";

/** How much memory the processes of idle sandboxes have: of one alone, and of each when there are several. */
export interface IdleMemory {
  readonly processes: number;
  readonly aloneBytes: number;
  readonly eachBytes: number;
}

/** What is learned from environments of the provider: their memory while nothing runs in them, and the floor below them. */
export interface Subject extends AsyncDisposable {
  readonly idle: IdleMemory;
  /** Null for who is not root: copies then go another way. */
  readonly floor: Floor | null;
}

const idleCount = 8;

/** Starts some environments, looks at them and removes them. */
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
  await using started = new AsyncDisposableStack();
  const start = async (): Promise<EnvironmentRecord> => {
    const environment = await provider.createEnvironment(request);
    started.defer(() => environment.destroy(signal));
    const record = readRecord(join(ground.layout.environments, environment.id));
    if (record === null) throw new Error("the environment has no record");
    return record;
  };
  const record = await start();
  const alone = shareOf(record);
  const records = [record];
  while (records.length < idleCount) records.push(await start());
  const eachBytes = records.reduce((sum, each) => sum + shareOf(each).bytes, 0) / idleCount;
  const directory = join(ground.layout.root, `bench-${host.pid}`);
  const floor =
    ground.idMap.kind === "private" ? openFloor({ ...ground, directory, record, limits, taskDirectory }) : null;
  return {
    idle: { processes: alone.processes, aloneBytes: alone.bytes, eachBytes },
    floor,
    async [Symbol.asyncDispose]() {
      floor?.[Symbol.dispose]();
      await provider[Symbol.asyncDispose]();
    },
  };
}

// The process that waits for the first one belongs to the sandbox, too.
function shareOf({ first }: EnvironmentRecord): ReturnType<typeof readMemoryShare> {
  const status = readFileSync(`/proc/${first?.pid ?? 0}/status`, "utf8");
  return readMemoryShare(Number(/^PPid:\s+(\d+)$/m.exec(status)?.[1]));
}
