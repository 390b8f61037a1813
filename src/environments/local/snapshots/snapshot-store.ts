import { createHash } from "node:crypto";
import { existsSync, rmSync } from "node:fs";
import { arch } from "node:os";
import { join } from "node:path";
import { RolloutError } from "../../../base/rollout-error.ts";
import type { FoundSnapshot } from "../../environment.ts";
import { listFolders, readRecord } from "../environment-records.ts";
import { loadImage, requireImage } from "../image-store.ts";
import type { LocalGround, PreparedGround } from "../local-ground.ts";
import { markUsed } from "../mark-used.ts";

const prefix = "install-";

/** What a snapshot is called, as an image and as a layer. */
export function snapshotName(key: string): string {
  return prefix + key;
}

/** What environments of an image start from: the base, the layers, the ids and how commands run. */
export function identifyImage(ground: PreparedGround, reference: string): string {
  const { layers, env, workdir, user } = requireImage(ground, reference);
  const content = [ground.base.key, ground.idMap, arch(), layers.map(({ key }) => key), env, workdir, user];
  return createHash("sha256").update(JSON.stringify(content)).digest("hex");
}

/** The image of a snapshot; null when there is none of that key. */
export function findSnapshot({ layout }: LocalGround, key: string): string | null {
  const name = snapshotName(key);
  const image = loadImage(layout.images, name);
  const isWhole = image?.layers.every((layer) => existsSync(join(layout.layers, layer.key))) ?? false;
  return isWhole && markUsed(join(layout.layers, name)) ? name : null;
}

/** Every snapshot, and half of one that a sudden end left. */
export function listSnapshots({ layout }: LocalGround): FoundSnapshot[] {
  const images = listFolders(layout.images).map((name) => name.replace(/\.json$/, ""));
  const names = new Set([...images, ...listFolders(layout.layers)]);
  const used = usedLayers(layout.environments);
  return [...names]
    .filter((name) => /^install-[A-Za-z0-9]+$/.test(name))
    .map((name) => ({ key: name.slice(prefix.length), isUsed: used.has(name) }));
}

/** Removes a snapshot; one that an environment was started from stays, kept ones included. */
export function removeSnapshot({ layout, trash }: LocalGround, key: string): void {
  const name = snapshotName(key);
  const assertUnused = (): void => {
    if (usedLayers(layout.environments).has(name))
      throw new RolloutError("in_use", `an environment was started from the snapshot ${key}`);
  };
  assertUnused();
  // Without its image nobody starts from it any more; whoever did so until now has its record.
  rmSync(join(layout.images, `${name}.json`), { force: true });
  assertUnused();
  trash.throwAway(join(layout.layers, name));
}

function usedLayers(environments: string): ReadonlySet<string> {
  const records = listFolders(environments).flatMap((name) => readRecord(join(environments, name)) ?? []);
  return new Set(records.flatMap(({ layers }) => layers.map(({ key }) => key)));
}
