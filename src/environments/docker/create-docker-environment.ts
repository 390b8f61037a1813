import { randomUUID } from "node:crypto";
import { messageOf } from "../../base/rollout-error.ts";
import { raceWithSignal } from "../../engine/race-with-signal.ts";
import { startDeadline } from "../../engine/deadline.ts";
import { checkTarget, planPlacements } from "../archive/plan-placements.ts";
import { requireSource } from "../archive/require-source.ts";
import type { CreateEnvironmentRequest } from "../environment.ts";
import { hasStatus } from "./connection/engine-error.ts";
import { ContainerLife } from "./container-life.ts";
import { ContainerRoot } from "./container-root.ts";
import { DockerEnvironment } from "./docker-environment.ts";
import type { DockerGround } from "./docker-ground.ts";
import type { ImageAnswer, ImageNote } from "./images/image-notes.ts";
import { logsPath, type LogVolume } from "./log-volume.ts";
import { planContainer } from "./plan-container.ts";
import { startFailure } from "./start-failure.ts";
import { planFacts } from "./docker-facts.ts";
import { removeContainer } from "./remove-container.ts";
import { hasBareLogs, planDrops } from "./snapshots/snapshot-labels.ts";

const removalLimitMs = 60_000;
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
    made = await makeContainer(ground, request, note);
    signal.throwIfAborted();
    const { id, logs } = made;
    const { Id, Config } = note.answer;
    const place = [...planDrops(note.answer), ...request.place];
    const rest = logs ? await logs.place(place) : place;
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
      workdir: Config?.WorkingDir || "/",
      user: ground.config.user ?? Config?.User ?? "",
      facts: planFacts(ground, request, Id),
    });
    // By archive it is cheaper together with what comes next.
    if (root !== null) await environment.copyTo([], signal);
    return environment;
  } catch (error) {
    if (made !== null) await removeFailed(ground, made);
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
): Promise<MadeContainer> {
  const look = async (): Promise<boolean> => !hasBareLogs(note.answer) && bringsLogs(ground, request, note);
  const logs = await ground.logVolumes.open(note, look);
  if (logs === null) return { id: await createContainer(ground, request, note.answer, null), logs };
  try {
    const id = await createContainer(ground, request, note.answer, logs);
    if (await ground.logVolumes.isShared(logs, id)) return { id, logs };
    await removeFailed(ground, { id, logs });
  } catch (error) {
    await logs.remove();
    if (!hasStatus(error, 400)) throw error;
    ground.logVolumes.giveUp();
  }
  return { id: await createContainer(ground, request, note.answer, null), logs: null };
}

// What an image holds is only seen in a container of it; one that is never started costs next to nothing.
async function bringsLogs(ground: DockerGround, request: CreateEnvironmentRequest, note: ImageNote): Promise<boolean> {
  const { client } = ground.engine;
  const name = `${request.name.slice(0, 58)}-look`;
  const id = await createContainer(ground, { ...request, name }, note.answer, null);
  try {
    await client.text({ method: "HEAD", path: `/containers/${id}/archive`, query: { path: logsPath }, signal: never });
    return true;
  } catch (error) {
    if (hasStatus(error, 404)) return false;
    throw error;
  } finally {
    // The trial need not wait for it; what an engine was asked to remove goes even when nobody listens any more.
    void removeFailed(ground, { id, logs: null });
  }
}

// Not to be aborted: what an engine has begun to create would otherwise belong to nobody.
async function createContainer(
  ground: DockerGround,
  request: CreateEnvironmentRequest,
  image: ImageAnswer,
  logs: LogVolume | null,
): Promise<string> {
  const { config, baseDir, engine } = ground;
  const hasHealthcheck = Boolean(image.Config?.Healthcheck);
  const volumes = new Map(logs ? [[logsPath, logs.hostPath]] : []);
  const json = planContainer({ request, config, baseDir, hasInit: engine.hasInit, hasHealthcheck, volumes });
  const create = async (name: string): Promise<string> => {
    const query = { name, platform: config.platform };
    const path = "/containers/create";
    return (await engine.client.json<{ Id: string }>({ method: "POST", path, query, json, signal: never })).Id;
  };
  try {
    return await create(request.name);
  } catch (error) {
    // Another job, or the remains of one, has the name.
    if (!hasStatus(error, 409) && !(engine.product === "podman" && hasStatus(error, 500))) throw error;
    return create(`${request.name}-${randomUUID().slice(0, 8)}`);
  }
}

async function removeFailed(ground: DockerGround, { id, logs }: MadeContainer): Promise<void> {
  const limit = { clock: ground.clock, limitMs: removalLimitMs, parent: null, what: "removing the container" };
  using deadline = startDeadline(limit);
  try {
    await removeContainer(ground, id, deadline.signal);
    await logs?.remove();
  } catch (error) {
    ground.log.write("warn", `the container ${id.slice(0, 12)} could not be removed: ${messageOf(error)}`);
  }
}
