import { randomUUID } from "node:crypto";
import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { messageOf, RolloutError } from "../../base/rollout-error.ts";
import type { CreateEnvironmentRequest } from "../environment.ts";
import { setOwner } from "./copy-owned.ts";
import { openControlGroups, planGroupDirectories, removeControlGroups, type ControlGroups } from "./control-groups.ts";
import { markProcess, writeRecord, type EnvironmentRecord } from "./environment-records.ts";
import { planProcessLimits } from "./limits.ts";
import { LocalEnvironment } from "./local-environment.ts";
import type { PreparedGround } from "./local-ground.ts";
import { defaultPath, type LocalImage } from "./local-image.ts";
import { planOwnFolder } from "./own-folders.ts";
import { planMounts } from "./plan-mounts.ts";
import { makeDisk, makeFolder, startSandbox, type Sandbox } from "./sandbox.ts";

export interface LocalCreation extends Omit<CreateEnvironmentRequest, "image"> {
  readonly image: LocalImage;
  /** Builds a layer: the volumes are part of its file system, too. */
  readonly isBuild: boolean;
  readonly onEnded: (environment: LocalEnvironment) => void;
}

/** Starts an environment; what it had started is gone when it rejects. */
export async function createLocalEnvironment(
  ground: PreparedGround,
  request: LocalCreation,
): Promise<LocalEnvironment> {
  const { image, limits, signal } = request;
  const id = `local-${request.name}-${randomUUID().slice(0, 8)}`;
  const directory = join(ground.layout.environments, id);
  const { base, idMap, toolbox, clock } = ground;
  const plan = planMounts({ base, layers: image.layers, toolbox, isBuild: request.isBuild });
  const memoryDiskBytes = ground.config.storage === "memory" && !request.isBuild ? limits.storageBytes : null;
  const disk = { ...ground, directory, plan, memoryDiskBytes, isRestart: false };
  let groups: ControlGroups | null = null;
  let sandbox: Sandbox | null = null;
  try {
    const groupName = `rollout-${id}`;
    const groupDirectories = ground.groupPlaces ? planGroupDirectories(ground.groupPlaces, groupName) : [];
    const record = planRecord(ground, request, id, groupDirectories);
    // Before all else, and both at once: whoever comes after a sudden end finds what there is to remove by its record.
    const staging = planOwnFolder(join(ground.layout.environments, "new"), ground.host);
    makeFolder(staging, idMap);
    writeRecord(staging, record);
    renameSync(staging, directory);
    groups = ground.groupPlaces && openControlGroups(ground.groupPlaces, groupName, limits);
    const meanwhile = (): void => {
      makeDisk(disk);
      writeNameServers(ground, join(directory, memoryDiskBytes === null ? "disk" : "stage"));
    };
    const pipes = ground.pipes.prepare();
    pipes.catch(() => {});
    sandbox = await startSandbox({ ...disk, prelude: groups?.firstPrelude, meanwhile, signal });
    await pipes;
    writeRecord(directory, { ...record, first: markProcess(sandbox.pid, ground.host) });
    const environment = new LocalEnvironment({
      ...request,
      id,
      ground,
      directory,
      plan,
      groups,
      sandbox,
      prelude: (groups?.prelude ?? "") + planProcessLimits(limits, groups !== null, ground.host.cpus),
      env: { PATH: defaultPath, ...image.env },
    });
    await environment.copyTo(request.place, signal);
    return environment;
  } catch (error) {
    await sandbox?.kill();
    // With its groups still there its record has to stay, so that the next start removes both.
    await removeControlGroups(groups?.directories ?? [], clock).then(
      () => ground.trash.throwAway(directory),
      () => {},
    );
    signal.throwIfAborted();
    if (error instanceof RolloutError && /^(environment_start|resource_allocation)_failed$/.test(error.code))
      throw error;
    throw new RolloutError("environment_start_failed", `${id} did not start: ${messageOf(error)}`, { cause: error });
  }
}

function planRecord(
  ground: PreparedGround,
  { image, labels }: LocalCreation,
  id: string,
  groups: readonly string[],
): EnvironmentRecord {
  const owner = markProcess(ground.host.pid, ground.host);
  if (owner === null) throw new RolloutError("environment_start_failed", "this process cannot be found in /proc");
  const { base, toolbox } = ground;
  return {
    format: 1,
    id,
    labels: { ...labels },
    owner,
    first: null,
    state: "running",
    groups: [...groups],
    image: image.name,
    base: { ...base, overlays: [...base.overlays] },
    layers: image.layers.map(({ key, parts }) => ({ key, parts: [...parts] })),
    toolbox,
    env: { PATH: defaultPath, ...image.env },
    workdir: image.workdir,
  };
}

// The host's may change from day to day, and on many machines it is a link to where no environment can look.
function writeNameServers({ base, idMap }: PreparedGround, disk: string): void {
  let text: string;
  try {
    text = readFileSync("/etc/resolv.conf", "utf8");
  } catch {
    return;
  }
  const etc = join(disk, "upper", base.kind === "host" ? "etc" : "_/etc");
  mkdirSync(etc, { recursive: true });
  setOwner(etc, idMap);
  const file = join(etc, "resolv.conf");
  writeFileSync(file, text, { mode: 0o644 });
  setOwner(file, idMap);
}
