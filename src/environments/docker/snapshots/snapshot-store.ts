import { RolloutError } from "../../../base/rollout-error.ts";
import type { FoundSnapshot } from "../../environment.ts";
import { hasStatus, wrapEngineError } from "../connection/engine-error.ts";
import type { DockerGround } from "../docker-ground.ts";
import { hasImage } from "../images/build-docker-image.ts";
import { bareId, snapshotLabel, snapshotTag } from "./snapshot-labels.ts";

interface ImageRow {
  readonly Id: string;
  readonly Labels: Readonly<Record<string, string>> | null;
}

/** What containers of an image start from: its content, and the settings that every container is made with. */
export async function identifyImage(ground: DockerGround, image: string, signal: AbortSignal): Promise<string> {
  const { answer } = await asked("looking at the image", signal, () => ground.images.read(image, signal));
  const { price: _price, price_per_hour: _other, build: _build, pull: _pull, ...settings } = ground.config;
  return JSON.stringify([answer.Id, ground.engine.platform, settings]);
}

/** The tag of a snapshot; null when the engine holds none of that key. */
export async function findSnapshot(ground: DockerGround, key: string, signal: AbortSignal): Promise<string | null> {
  const tag = snapshotTag(key);
  return (await asked("looking for a snapshot", signal, () => hasImage(ground, tag, signal))) ? tag : null;
}

/** Every snapshot that the engine holds. */
export async function listSnapshots(ground: DockerGround, signal: AbortSignal): Promise<FoundSnapshot[]> {
  const rows = await listImages(ground, snapshotLabel, signal);
  const containers = await asked("listing containers", signal, () =>
    ground.engine.client.json<readonly { readonly ImageID: string }[]>({
      method: "GET",
      path: "/containers/json",
      query: { all: true },
      signal,
    }),
  );
  const used = new Set(containers.map(({ ImageID }) => bareId(ImageID)));
  const snapshots = new Map<string, boolean>();
  for (const { Id, Labels } of rows) {
    const key = Labels?.[snapshotLabel] ?? "";
    if (key !== "") snapshots.set(key, snapshots.get(key) === true || used.has(bareId(Id)));
  }
  return [...snapshots].map(([key, isUsed]) => ({ key, isUsed }));
}

/** Removes a snapshot, and what a race between two processes may have left of it. */
export async function removeSnapshot(ground: DockerGround, key: string, signal: AbortSignal): Promise<void> {
  for (const { Id } of await listImages(ground, `${snapshotLabel}=${key}`, signal)) {
    await asked("removing a snapshot", signal, async () => {
      try {
        const path = `/images/${encodeURIComponent(Id)}`;
        await ground.engine.client.text({ method: "DELETE", path, signal });
      } catch (error) {
        if (hasStatus(error, 409)) throw new RolloutError("in_use", `a container was made from the snapshot ${key}`);
        if (!hasStatus(error, 404)) throw error;
      }
    });
  }
  ground.images.forget(snapshotTag(key));
}

async function listImages(ground: DockerGround, label: string, signal: AbortSignal): Promise<readonly ImageRow[]> {
  const query = { filters: JSON.stringify({ label: [label] }) };
  return asked("listing images", signal, () =>
    ground.engine.client.json<readonly ImageRow[]>({ method: "GET", path: "/images/json", query, signal }),
  );
}

async function asked<T>(what: string, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    signal.throwIfAborted();
    throw wrapEngineError(error, "provider_unavailable", what);
  }
}
