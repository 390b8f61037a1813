import { mkdirSync, readdirSync, renameSync } from "node:fs";
import { join } from "node:path";
import { systemCodeOf } from "../../../base/rollout-error.ts";
import type { SnapshotRequest } from "../../environment.ts";
import { volumePaths } from "../base-system.ts";
import { saveImage } from "../image-store.ts";
import type { PreparedGround } from "../local-ground.ts";
import type { LocalImage } from "../local-image.ts";
import { planOwnFolder } from "../own-folders.ts";
import { dropEmptyParts } from "./drop-empty-parts.ts";
import { examineLayer } from "./examine-layer.ts";
import { runAsOwner } from "./owner-process.ts";
import { snapshotName } from "./snapshot-store.ts";

// What belongs to one trial.
const trialParts: readonly string[] = ["logs", "tests", "oracle"];

export interface SaveRequest extends SnapshotRequest {
  /** The disk of an environment in which nothing runs. */
  readonly disk: string;
  /** Volumes that are plain directories of the disk, by their path inside. */
  readonly volumes: ReadonlyMap<string, string>;
}

/** Copies what an environment holds beside its image into one more layer, and gives the image with it; null when that was refused. */
export async function saveSnapshot(
  ground: PreparedGround,
  image: LocalImage,
  request: SaveRequest,
): Promise<string | null> {
  const name = snapshotName(request.key);
  const directory = join(ground.layout.layers, name);
  const staging = planOwnFolder(directory, ground.host);
  mkdirSync(staging);
  try {
    await copyParts(ground, staging, request);
    dropEmptyParts(staging);
    if (!(await examineLayer(ground, staging, request))) return null;
    publishOnce(staging, directory);
  } finally {
    ground.trash.throwAway(staging);
  }
  const layer = { key: name, parts: readdirSync(directory) };
  return saveImage(ground.layout.images, name, { ...image, layers: [layer, ...image.layers] });
}

async function copyParts(
  ground: PreparedGround,
  staging: string,
  { disk, volumes, signal }: SaveRequest,
): Promise<void> {
  const isKept = (part: string): boolean => !trialParts.includes(part);
  const parts = readdirSync(join(disk, "upper")).filter(isKept);
  const plain = volumePaths.filter((path) => volumes.has(`/${path}`) && isKept(path));
  const sources = [...parts.map((part) => `upper/${part}`), ...plain.map((path) => `volumes/${path}`)];
  await runAsOwner(ground, ["cp", "-a", "--", ...sources, staging], disk, signal);
}

// One that another process made meanwhile is as good, and may be in use already.
function publishOnce(staging: string, directory: string): void {
  try {
    renameSync(staging, directory);
  } catch (error) {
    const code = systemCodeOf(error);
    if (code !== "ENOTEMPTY" && code !== "EEXIST") throw error;
  }
}
