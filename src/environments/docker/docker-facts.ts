import { formatBytes } from "../../base/quantity.ts";
import { defaultPidsLimit, type CreateEnvironmentRequest, type FactValue } from "../environment.ts";
import { addressOf } from "./connection/engine-endpoint.ts";
import type { DockerGround } from "./docker-ground.ts";

/** What a trial's result records of its container. */
export function planFacts(
  { engine, config }: DockerGround,
  { image, limits }: Pick<CreateEnvironmentRequest, "image" | "limits">,
  imageId: string,
): { readonly [key: string]: FactValue } {
  return {
    provider: "docker",
    engine: engine.product,
    engine_version: engine.version,
    api_version: engine.apiVersion,
    endpoint: addressOf(engine.client.endpoint),
    platform: engine.platform,
    image,
    image_id: imageId,
    limits: {
      cpus: limits.cpus,
      memory: formatBytes(limits.memoryBytes),
      storage: config.storage_quota ? formatBytes(limits.storageBytes) : null,
      pids: engine.hasPidsLimit ? (limits.pids ?? defaultPidsLimit) : null,
    },
    network: config.network ?? "default",
    runtime: config.runtime ?? null,
    privileged: config.privileged,
  };
}
