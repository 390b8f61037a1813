import { raceWithSignal } from "../../engine/race-with-signal.ts";
import { checkTarget, planPlacements } from "../archive/plan-placements.ts";
import { requireSource } from "../archive/require-source.ts";
import type { CreateEnvironmentRequest } from "../environment.ts";
import { hasStatus } from "./connection/engine-error.ts";
import { ContainerLife } from "./container-life.ts";
import { ContainerRoot } from "./container-root.ts";
import { holdPlacements } from "./carried/held-placement.ts";
import { createContainer } from "./create-container.ts";
import { discardContainer } from "./discard-container.ts";
import { DockerEnvironment } from "./docker-environment.ts";
import type { DockerGround } from "./docker-ground.ts";
import type { ImageNote } from "./images/image-notes.ts";
import { lendContainers } from "./lend-containers.ts";
import { logsPath, type LogVolume } from "./log-volume.ts";
import { startFailure } from "./start-failure.ts";
import { planFacts } from "./docker-facts.ts";
import { hasBareLogs, planDrops } from "./snapshots/snapshot-labels.ts";
import type { BorrowContainer } from "./tools/image-tools.ts";

const never = new AbortController().signal;

/** Creates, fills and starts a container; when that fails, nothing of it is left. */
export async function createDockerEnvironment(
  ground: DockerGround,
  request: CreateEnvironmentRequest,
): Promise<DockerEnvironment> {
  const { signal, name } = request;
  signal.throwIfAborted();
  let made: MadeContainer | null = null;
  try {
    for (const item of request.place) if (item.kind === "tree") await requireSource(item.source);
    planPlacements(request.place, new Set());
    const note = await raceWithSignal(ground.images.read(request.image, never), signal, () => {});
    const borrow = lendContainers(ground, request, note.answer);
    made = await makeContainer(ground, request, note, borrow);
    signal.throwIfAborted();
    const { id, logs } = made;
    const { Id, Config } = note.answer;
    const place = [...planDrops(note.answer), ...request.place];
    // Where files have to go by the engine, small ones go with the first command.
    const rest = logs ? await logs.place(place) : ((await holdPlacements(place, signal)) ?? place);
    await ground.engine.client.text({ method: "POST", path: `/containers/${id}/start`, signal });
    const life = new ContainerLife(ground, id);
    const root = logs && (await findRoot(life, logs, signal));
    const environment = new DockerEnvironment({
      ground,
      id,
      image: note.answer,
      life,
      logs,
      root,
      pending: rest,
      mountPoints: [...Object.keys(Config?.Volumes ?? {}), ...ground.config.mounts.map(({ target }) => target)].map(
        (path) => checkTarget(path),
      ),
      standing: note.standing,
      imageTools: note.tools,
      borrow,
      workdir: Config?.WorkingDir || "/",
      user: ground.config.user ?? Config?.User ?? "",
      facts: planFacts(ground, request, Id),
    });
    // By archive it is cheaper together with what comes next.
    if (root !== null) await environment.copyTo([], signal);
    return environment;
  } catch (error) {
    if (made !== null) await discardContainer(ground, made.id, made.logs);
    ground.images.forget(request.image);
    signal.throwIfAborted();
    throw startFailure(error, name, ground.config);
  }
}

async function findRoot(life: ContainerLife, logs: LogVolume, signal: AbortSignal): Promise<ContainerRoot> {
  const state = await life.read(signal);
  await life.assertStarted(state);
  return new ContainerRoot(state.Pid, logs.hostPath);
}

interface MadeContainer {
  readonly id: string;
  readonly logs: LogVolume | null;
}

// A volume is used only once the engine has shown that it sees the same files.
async function makeContainer(
  ground: DockerGround,
  request: CreateEnvironmentRequest,
  note: ImageNote,
  borrow: BorrowContainer,
): Promise<MadeContainer> {
  const look = async (): Promise<boolean> => !hasBareLogs(note.answer) && bringsLogs(ground, borrow);
  const logs = await ground.logVolumes.open(note, look);
  if (logs === null) return { id: await createContainer(ground, request, note.answer, null), logs };
  try {
    const id = await createContainer(ground, request, note.answer, logs);
    if (await ground.logVolumes.isShared(logs, id)) return { id, logs };
    await discardContainer(ground, id, logs);
  } catch (error) {
    await logs.remove();
    if (!hasStatus(error, 400)) throw error;
    ground.logVolumes.giveUp();
  }
  return { id: await createContainer(ground, request, note.answer, null), logs: null };
}

// What an image holds is only seen in a container of it.
async function bringsLogs({ engine }: DockerGround, borrow: BorrowContainer): Promise<boolean> {
  return borrow(async (id) => {
    const request = { path: `/containers/${id}/archive`, query: { path: logsPath }, signal: never };
    try {
      await engine.client.headers(request);
      return true;
    } catch (error) {
      if (hasStatus(error, 404)) return false;
      throw error;
    }
  });
}
