import { posix } from "node:path";
import { listOverlayChanges } from "../../archive/overlay-changes.ts";
import type { ChangeReport, ListChangesRequest } from "../../environment.ts";
import type { Engine } from "../connection/open-engine.ts";
import type { ContainerRoot } from "../container-root.ts";
import { findRootOverlay, listMountPoints } from "./find-root-overlay.ts";
import { listLayerChanges } from "./list-layer-changes.ts";

export interface ContainerChanges {
  readonly engine: Engine;
  readonly id: string;
  readonly root: ContainerRoot | null;
  /** Where the image or the job mounts something. The container's own layer has nothing of it. */
  readonly mountPoints: readonly string[];
}

// Written by engines when a container starts.
const engineFiles = [
  "/etc/hostname",
  "/etc/hosts",
  "/etc/mtab",
  "/etc/resolv.conf",
  "/run/.containerenv",
  "/.dockerenv",
];

/**
 * Lists what a container has on top of its image: from the layers if this machine can read them, else from an engine
 * that keeps such a list. Resolves with null for an engine that would compare all files of the image.
 */
export async function listContainerChanges(
  { engine, id, root, mountPoints }: ContainerChanges,
  request: ListChangesRequest,
): Promise<ChangeReport | null> {
  const directory = posix.resolve("/", request.directory);
  const mountInfo = root?.readMountInfo() ?? null;
  const points = [...mountPoints, ...(mountInfo === null ? [] : listMountPoints(mountInfo))];
  if (points.some((point) => `${directory}/`.startsWith(`${point}/`))) return null;
  const asked = { ...request, directory, exclude: [...request.exclude, ...points, ...engineFiles] };
  const overlay = mountInfo === null ? null : findRootOverlay(mountInfo);
  if (root !== null && overlay !== null)
    return listOverlayChanges({ ...asked, mounts: [overlay], openRoot: () => root.open() });
  return engine.layer === "listed" ? listLayerChanges(engine, id, asked) : null;
}
