import { messageOf } from "../../base/rollout-error.ts";
import { isOwnerAlive } from "../../base/process-owner.ts";
import type { DockerGround } from "./docker-ground.ts";
import { listContainers, type ContainerRow } from "./list-containers.ts";
import { removeContainer } from "./remove-container.ts";

/** Removes the containers of processes that were killed; those that were kept on purpose are stopped, and stay. */
export async function reapContainers(ground: DockerGround, signal: AbortSignal): Promise<void> {
  try {
    const rows = await listContainers(ground.engine, {}, signal);
    const orphans = rows.filter((row) => row.State !== "exited" && isOrphan(row, ground));
    for (const { Id } of orphans) {
      ground.log.write("info", `removing the container ${Id.slice(0, 12)}, whose process is gone`);
      await removeContainer(ground, Id, signal);
    }
    await ground.logVolumes.reap(rows.map(({ Id }) => Id));
  } catch (error) {
    // The next start tries again.
    ground.log.write("warn", `leftover containers could not be removed: ${messageOf(error)}`);
  }
}

function isOrphan({ Labels, Created }: ContainerRow, { host, clock }: DockerGround): boolean {
  const pid = Number(Labels?.["rollout.owner-pid"]);
  const bootId = Labels?.["rollout.owner-boot"];
  const hostname = Labels?.["rollout.owner-host"];
  if (!Number.isInteger(pid) || pid <= 0 || bootId === undefined || hostname === undefined) return false;
  return !isOwnerAlive({ pid, bootId, hostname }, host, clock.now() - Created * 1000);
}
