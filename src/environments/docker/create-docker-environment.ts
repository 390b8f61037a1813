import { randomUUID } from "node:crypto";
import { messageOf, RolloutError } from "../../base/rollout-error.ts";
import { raceWithSignal } from "../../engine/race-with-signal.ts";
import { startDeadline } from "../../engine/deadline.ts";
import type { CreateEnvironmentRequest } from "../environment.ts";
import { EngineError, hasStatus, wrapEngineError } from "./connection/engine-error.ts";
import { copyIn } from "./copy-in.ts";
import { DockerEnvironment } from "./docker-environment.ts";
import type { DockerGround } from "./docker-ground.ts";
import type { ImageAnswer } from "./images/image-notes.ts";
import { planContainer } from "./plan-container.ts";
import { planFacts } from "./docker-facts.ts";
import { removeContainer } from "./remove-container.ts";

const removalLimitMs = 60_000;
const never = new AbortController().signal;

/** Creates, fills and starts a container; when that fails, nothing of it is left. */
export async function createDockerEnvironment(
  ground: DockerGround,
  request: CreateEnvironmentRequest,
): Promise<DockerEnvironment> {
  const { signal, name } = request;
  signal.throwIfAborted();
  let id: string | null = null;
  try {
    const { answer: image, standing } = await raceWithSignal(
      ground.images.read(request.image, never),
      signal,
      () => {},
    );
    id = await createContainer(ground, request, image);
    signal.throwIfAborted();
    const environment = new DockerEnvironment({
      ground,
      id,
      workdir: image.Config?.WorkingDir || "/",
      user: ground.config.user ?? image.Config?.User ?? "",
      facts: planFacts(ground, request, image.Id),
    });
    const options = { engine: ground.engine, id, commands: null, known: standing, signal };
    const isPlaced = await copyIn(request.place, options);
    await ground.engine.client.text({ method: "POST", path: `/containers/${id}/start`, signal });
    if (!isPlaced) await environment.copyTo(request.place, signal);
    return environment;
  } catch (error) {
    if (id !== null) await removeFailed(ground, id);
    ground.images.forget(request.image);
    signal.throwIfAborted();
    throw startFailure(error, name);
  }
}

// Not to be aborted: what an engine has begun to create would otherwise belong to nobody.
async function createContainer(
  ground: DockerGround,
  request: CreateEnvironmentRequest,
  image: ImageAnswer,
): Promise<string> {
  const { config, baseDir, engine } = ground;
  const hasHealthcheck = Boolean(image.Config?.Healthcheck);
  const { hasInit } = engine;
  const json = planContainer({ request, config, baseDir, hasInit, hasHealthcheck, volumes: new Map() });
  const create = async (name: string): Promise<string> => {
    const query = { name, platform: config.platform };
    const answer = await engine.client.json<{ Id: string }>({
      method: "POST",
      path: "/containers/create",
      query,
      json,
      signal: never,
    });
    return answer.Id;
  };
  try {
    return await create(request.name);
  } catch (error) {
    // Another job, or the remains of one, has the name.
    if (!hasStatus(error, 409) && !(ground.engine.product === "podman" && hasStatus(error, 500))) throw error;
    return create(`${request.name}-${randomUUID().slice(0, 8)}`);
  }
}

async function removeFailed(ground: DockerGround, id: string): Promise<void> {
  const limit = { clock: ground.clock, limitMs: removalLimitMs, parent: null, what: "removing the container" };
  using deadline = startDeadline(limit);
  try {
    await removeContainer(ground, id, deadline.signal);
  } catch (error) {
    ground.log.write("warn", `the container ${id.slice(0, 12)} could not be removed: ${messageOf(error)}`);
  }
}

function startFailure(error: unknown, name: string): unknown {
  const wrapped = wrapEngineError(error, "environment_start_failed", `${name} did not start`);
  if (!(wrapped instanceof RolloutError) || error instanceof EngineError) return wrapped;
  if (wrapped.code === "environment_start_failed" || wrapped.code === "resource_allocation_failed") return wrapped;
  return new RolloutError("environment_start_failed", `${name} did not start: ${wrapped.message}`, {
    cause: wrapped,
    transient: wrapped.transient,
  });
}
