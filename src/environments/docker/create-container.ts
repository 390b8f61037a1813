import { randomUUID } from "node:crypto";
import type { CreateEnvironmentRequest } from "../environment.ts";
import { EngineError, hasStatus } from "./connection/engine-error.ts";
import type { DockerGround } from "./docker-ground.ts";
import type { ImageAnswer } from "./images/image-notes.ts";
import { logsPath, type LogVolume } from "./log-volume.ts";
import { planContainer } from "./plan-container.ts";

const never = new AbortController().signal;

/** Creates a container and gives its id. */
export async function createContainer(
  ground: DockerGround,
  request: CreateEnvironmentRequest,
  image: ImageAnswer,
  logs: LogVolume | null,
): Promise<string> {
  const { config, baseDir, engine } = ground;
  const hasHealthcheck = Boolean(image.Config?.Healthcheck);
  const volumes = new Map(logs ? [[logsPath, logs.hostPath]] : []);
  const json = planContainer({ request, config, baseDir, hasInit: engine.hasInit, hasHealthcheck, volumes });
  // Not to be aborted: what an engine has begun to create would otherwise belong to nobody.
  const create = async (name: string): Promise<string> => {
    const query = { name, platform: config.platform };
    const path = "/containers/create";
    try {
      return (await engine.client.json<{ Id: string }>({ method: "POST", path, query, json, signal: never })).Id;
    } catch (error) {
      // It may have been made, and only the answer was lost.
      if (error instanceof EngineError && error.status === null) ground.doubtful.add(name, request.labels);
      throw error;
    }
  };
  try {
    return await create(request.name);
  } catch (error) {
    // Another job, or the remains of one, has the name.
    if (!hasStatus(error, 409) && !(engine.product === "podman" && hasStatus(error, 500))) throw error;
    return create(`${request.name}-${randomUUID().slice(0, 8)}`);
  }
}
