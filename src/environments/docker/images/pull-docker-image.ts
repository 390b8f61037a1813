import { messageOf, RolloutError } from "../../../base/rollout-error.ts";
import type { PullImageRequest } from "../../environment.ts";
import { EngineError, wrapEngineError } from "../connection/engine-error.ts";
import { readJsonLines } from "../../json-lines.ts";
import { encodeAuth, findRegistryAuth, registryOf } from "../../images/registry-auth.ts";
import type { DockerGround } from "../docker-ground.ts";
import { hasImage } from "./build-docker-image.ts";
import { ImageOutput } from "../../images/image-output.ts";

/** Makes sure that the engine holds the image a task names, and returns its name. */
export async function pullDockerImage(ground: DockerGround, request: PullImageRequest): Promise<string> {
  const { plan, signal } = request;
  signal.throwIfAborted();
  const output = new ImageOutput(request.output);
  const policy = ground.config.pull;
  try {
    if (policy !== "always" && (await hasImage(ground, plan.ref, signal))) {
      await output.say(`${plan.ref} is there already`);
      return plan.ref;
    }
    if (policy === "never") {
      throw new RolloutError(
        "image_pull_failed",
        `the engine holds no image ${plan.ref}, and provider_config.pull is never`,
      );
    }
    await pull(ground, plan.ref, output, signal);
    return plan.ref;
  } catch (error) {
    signal.throwIfAborted();
    throw wrapEngineError(error, "image_pull_failed", `pulling ${plan.ref} failed`);
  }
}

async function pull(
  { engine, config, host }: DockerGround,
  ref: string,
  output: ImageOutput,
  signal: AbortSignal,
): Promise<void> {
  const auth = await findRegistryAuth(host, registryOf(ref), signal);
  const answer = await engine.client.open({
    method: "POST",
    path: "/images/create",
    query: { ...splitReference(ref), platform: config.platform },
    headers: auth ? { "x-registry-auth": encodeAuth(auth) } : {},
    signal,
  });
  const onAbort = (): void => void answer.destroy();
  signal.addEventListener("abort", onAbort, { once: true });
  let failure: string | null = null;
  try {
    for await (const event of readJsonLines(answer)) {
      if (typeof event["error"] === "string") failure = event["error"];
      else if (typeof event["status"] === "string") await output.sayStatus(event);
    }
  } catch (error) {
    throw new EngineError(null, `the connection to the engine was lost: ${messageOf(error)}`, error);
  } finally {
    signal.removeEventListener("abort", onAbort);
    answer.destroy();
  }
  if (failure !== null) throw new EngineError(null, failure);
}

/** The two parts of a reference that the engine wants apart; no tag means the latest, never all of them. */
export function splitReference(ref: string): { readonly fromImage: string; readonly tag: string } {
  const at = ref.indexOf("@");
  if (at !== -1) return { fromImage: ref.slice(0, at).replace(/:[^:/]*$/, ""), tag: ref.slice(at + 1) };
  const colon = ref.lastIndexOf(":");
  if (colon > ref.lastIndexOf("/")) return { fromImage: ref.slice(0, colon), tag: ref.slice(colon + 1) };
  return { fromImage: ref, tag: "latest" };
}
