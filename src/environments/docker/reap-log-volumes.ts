import { messageOf } from "../../base/rollout-error.ts";
import type { DockerGround } from "./docker-ground.ts";
import { listContainers } from "./list-containers.ts";

/** Removes the logs of containers that are gone with their processes. */
export async function reapLogVolumes(ground: DockerGround, signal: AbortSignal): Promise<void> {
  try {
    const rows = await listContainers(ground.engine, {}, signal);
    await ground.logVolumes.reap(rows.map(({ Id }) => Id));
  } catch (error) {
    // The next start tries again.
    ground.log.write("info", `leftover logs of containers could not be removed: ${messageOf(error)}`);
  }
}
