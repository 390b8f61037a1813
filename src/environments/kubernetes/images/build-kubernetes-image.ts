import { messageOf } from "../../../base/rollout-error.ts";
import type { BuildImageRequest } from "../../environment.ts";
import { ImageOutput } from "../../images/image-output.ts";
import { findRegistryAuth } from "../../images/registry-auth.ts";
import type { KubernetesGround } from "../kubernetes-ground.ts";
import { buildHere } from "./build-here.ts";
import { buildInPod } from "./build-in-pod.ts";
import { imageRef } from "./plan-kubernetes-image.ts";
import { hasRegistryImage } from "./registry-client.ts";

/** Builds a task's Dockerfile and pushes it; an image that the registry has is not built again. */
export async function buildKubernetesImage(ground: KubernetesGround, request: BuildImageRequest): Promise<string> {
  const { plan, labels, signal } = request;
  signal.throwIfAborted();
  const ref = imageRef(plan, ground.config);
  const output = new ImageOutput(request.output);
  if (!plan.noCache && (await isThere(ground, ref, output, signal))) {
    await output.say(`${ref} is there already`);
    return ref;
  }
  const { builder } = ground.config;
  if (builder === undefined) await buildHere(ground, { ref, plan, output, signal });
  else await buildInPod(ground, { ref, plan, output, labels, builder, signal });
  return ref;
}

async function isThere(
  { config, host, log }: KubernetesGround,
  ref: string,
  output: ImageOutput,
  signal: AbortSignal,
): Promise<boolean> {
  const registry = ref.split("/")[0] ?? "";
  try {
    const auth = await findRegistryAuth(host, registry, signal);
    return await hasRegistryImage({ ref, auth, isPlain: config.registry_insecure, signal });
  } catch (error) {
    signal.throwIfAborted();
    // One that only the nodes can reach takes the image all the same.
    const words = `${registry} does not tell this machine whether it has ${ref}, so that it is built: ${messageOf(error)}`;
    log.write("info", words);
    await output.say(`${words}; a login on this machine may spare that`);
    return false;
  }
}
