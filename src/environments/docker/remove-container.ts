import { hasStatus } from "./connection/engine-error.ts";
import type { DockerGround } from "./docker-ground.ts";

const pollMs = 50;
const mostTries = 5;

/** Kills and removes a container with its volumes; one that is gone is fine, one that somebody else removes is waited for. */
export async function removeContainer({ engine, clock }: DockerGround, id: string, signal: AbortSignal): Promise<void> {
  for (let tries = 1; ; tries++) {
    try {
      const query = { force: true, v: true };
      await engine.client.text({ method: "DELETE", path: `/containers/${id}`, query, signal });
      return;
    } catch (error) {
      if (hasStatus(error, 404)) return;
      // Podman stumbles over one that ends at this very moment.
      const mayStumble = engine.product === "podman" && hasStatus(error, 500) && tries < mostTries;
      if (!hasStatus(error, 409) && !mayStumble) throw error;
    }
    await clock.sleep(pollMs, signal);
  }
}
