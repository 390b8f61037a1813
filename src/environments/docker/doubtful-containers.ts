import { messageOf } from "../../base/rollout-error.ts";
import { startDeadline } from "../../engine/deadline.ts";
import { hasStatus } from "./connection/engine-error.ts";
import type { DockerGround } from "./docker-ground.ts";
import { removeContainer } from "./remove-container.ts";

const limitMs = 30_000;

type Labels = Readonly<Record<string, string>>;

/** Containers of which nobody knows whether they are there, because the engine went away while it was asked to make or to remove them. */
export class DoubtfulContainers {
  readonly #labels = new Map<string, Labels>();

  /** Takes note of one by its id or its name, with labels that tell it from somebody else's of that name. */
  add(container: string, labels: Labels): void {
    this.#labels.set(container, labels);
  }

  /** Removes those that are there after all; that one could not be removed is logged. */
  async remove(ground: DockerGround): Promise<void> {
    for (const [container, labels] of this.#labels) {
      using deadline = startDeadline({ clock: ground.clock, limitMs, parent: null, what: "removing a container" });
      try {
        const id = await findOwn(ground, container, labels, deadline.signal);
        if (id !== null) await removeContainer(ground, id, deadline.signal);
        this.#labels.delete(container);
      } catch (error) {
        ground.log.write("warn", `the container ${container} could not be removed: ${messageOf(error)}`);
      }
    }
  }
}

interface Answer {
  readonly Id: string;
  readonly Config: { readonly Labels: Labels | null };
}

async function findOwn(
  { engine }: DockerGround,
  container: string,
  labels: Labels,
  signal: AbortSignal,
): Promise<string | null> {
  try {
    const path = `/containers/${container}/json`;
    const { Id, Config } = await engine.client.json<Answer>({ method: "GET", path, signal });
    const isOwn = Object.entries(labels).every(([key, value]) => Config.Labels?.[key] === value);
    return isOwn ? Id : null;
  } catch (error) {
    if (hasStatus(error, 404)) return null;
    throw error;
  }
}
