import { messageOf, RolloutError } from "../../../base/rollout-error.ts";
import { encodeTar } from "../../archive/encode-tar.ts";
import type { BuildImageRequest } from "../../environment.ts";
import { EngineError, hasStatus, wrapEngineError } from "../connection/engine-error.ts";
import { readJsonLines } from "../../json-lines.ts";
import { encodeAllAuth, findRegistryAuth, readAllAuth } from "../../images/registry-auth.ts";
import type { DockerGround } from "../docker-ground.ts";
import { describeBuildFailure, isOutOfReach } from "../../images/build-failure.ts";
import { BuildProgress } from "./build-progress.ts";
import { createSecretRedactor, readBuildSecret } from "./build-secrets.ts";
import { openBuildSession, type BuildSession } from "./build-session.ts";
import { ImageOutput } from "../../images/image-output.ts";
import { readDockerContext } from "../../images/docker-context.ts";

/** Builds a task's Dockerfile and returns its tag; an image that carries the tag already is not built again. */
export async function buildDockerImage(ground: DockerGround, request: BuildImageRequest): Promise<string> {
  const { plan, signal } = request;
  signal.throwIfAborted();
  const tag = `rollout-task:${plan.key}`;
  const output = new ImageOutput(request.output, await createSecretRedactor(ground));
  try {
    if (!plan.noCache && (await hasImage(ground, tag, signal))) {
      await output.say(`${tag} is there already`);
      return tag;
    }
    using session = ground.engine.hasBuildKit ? await openSession(ground, signal) : null;
    await build(ground, request, tag, session, output);
    ground.images.forget(tag);
    return tag;
  } catch (error) {
    signal.throwIfAborted();
    const wrapped = wrapEngineError(error, "image_build_failed", `building ${plan.contextDir} failed`);
    if (!(wrapped instanceof RolloutError) || !(error instanceof EngineError)) throw wrapped;
    const { code, hint, transient } = wrapped;
    const isBuild = code === "image_build_failed";
    const message = isBuild ? describeBuildFailure(plan.contextDir, error.message, output.tail) : wrapped.message;
    throw new RolloutError(code, output.withTail(message), { cause: error, hint, transient });
  }
}

/** True when the engine holds an image of that name. */
export async function hasImage({ engine }: DockerGround, image: string, signal: AbortSignal): Promise<boolean> {
  try {
    await engine.client.text({ method: "GET", path: `/images/${encodeURIComponent(image)}/json`, signal });
    return true;
  } catch (error) {
    if (hasStatus(error, 404)) return false;
    throw error;
  }
}

function openSession(ground: DockerGround, signal: AbortSignal): Promise<BuildSession> {
  const findAuth = (server: string) => findRegistryAuth(ground.host, server, signal);
  const readSecret = (id: string) => readBuildSecret(ground, id);
  return openBuildSession(ground.engine.client, { findAuth, readSecret }, signal);
}

async function build(
  ground: DockerGround,
  { plan, signal }: BuildImageRequest,
  tag: string,
  session: BuildSession | null,
  output: ImageOutput,
): Promise<void> {
  const { engine, config, host } = ground;
  const { args, target } = config.build;
  const auths = session ? {} : await readAllAuth(host, signal);
  const answer = await engine.client.open({
    method: "POST",
    path: "/build",
    query: {
      t: tag,
      dockerfile: "Dockerfile",
      nocache: plan.noCache,
      rm: true,
      forcerm: true,
      buildargs: JSON.stringify(args),
      labels: JSON.stringify({ "rollout.task-image": plan.key }),
      target,
      platform: config.platform,
      ...(session ? { version: 2, session: session.id } : {}),
    },
    headers: {
      "content-type": "application/x-tar",
      ...(Object.keys(auths).length === 0 ? {} : { "x-registry-config": encodeAllAuth(auths) }),
    },
    body: encodeTar(readDockerContext(plan.contextDir, signal)),
    signal,
  });
  const onAbort = (): void => void answer.destroy();
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    await follow(answer, output);
  } finally {
    signal.removeEventListener("abort", onAbort);
    answer.destroy();
  }
}

async function follow(answer: AsyncIterable<Uint8Array>, output: ImageOutput): Promise<void> {
  const progress = new BuildProgress();
  let failure: string | null = null;
  try {
    for await (const event of readJsonLines(answer)) {
      if (event["id"] === "moby.buildkit.trace" && typeof event["aux"] === "string") {
        await output.write(progress.read(Buffer.from(event["aux"], "base64")));
      } else if (typeof event["stream"] === "string") await output.write(event["stream"]);
      else if (typeof event["status"] === "string") await output.sayStatus(event);
      if (typeof event["error"] === "string") failure = event["error"];
    }
  } catch (error) {
    throw new EngineError(null, `the connection to the engine was lost: ${messageOf(error)}`, error);
  }
  // What a Dockerfile did wrong stays wrong, whatever the status of the answer was.
  if (failure !== null) throw new EngineError(isOutOfReach(failure) ? 503 : 400, failure);
}
