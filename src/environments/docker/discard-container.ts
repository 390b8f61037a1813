import { messageOf } from "../../base/rollout-error.ts";
import { startDeadline } from "../../engine/deadline.ts";
import type { DockerGround } from "./docker-ground.ts";
import type { LogVolume } from "./log-volume.ts";
import { removeContainer } from "./remove-container.ts";

const removalLimitMs = 60_000;

/** Removes a container that nobody will use; one that cannot be removed now is tried again when the provider is closed. */
export async function discardContainer(ground: DockerGround, id: string, logs: LogVolume | null): Promise<void> {
  const limit = { clock: ground.clock, limitMs: removalLimitMs, parent: null, what: "removing the container" };
  using deadline = startDeadline(limit);
  try {
    await removeContainer(ground, id, deadline.signal);
    await logs?.remove();
  } catch (error) {
    ground.doubtful.add(id, {});
    ground.log.write("warn", `the container ${id.slice(0, 12)} could not be removed: ${messageOf(error)}`);
  }
}
