import { join, resolve } from "node:path";
import { listOverlayChanges, type OverlayLower, type OverlayMount } from "../archive/overlay-changes.ts";
import type { ChangeReport, ListChangesRequest } from "../environment.ts";
import { partPath } from "./base-system.ts";
import type { PreparedGround } from "./local-ground.ts";
import type { Mount, MountPlan } from "./plan-mounts.ts";
import type { Sandbox } from "./sandbox.ts";

export interface LocalChangesOptions {
  readonly ground: PreparedGround;
  /** The folder of the environment. */
  readonly directory: string;
  readonly plan: MountPlan;
  readonly sandbox: Sandbox;
}

// Written at the start of every environment.
const ownFiles = ["/etc/resolv.conf"];

/** Lists what the overlays of a sandbox hold on top of its image. Resolves with null if its disk is in memory. */
export async function listLocalChanges(
  { ground, directory, plan, sandbox }: LocalChangesOptions,
  request: ListChangesRequest,
): Promise<ChangeReport | null> {
  if (ground.config.storage !== "disk") return null;
  const volumes = [...plan.volumes].map(([target, place]): OverlayMount => {
    return { target, upper: join(directory, place), lowers: [] };
  });
  // Volumes hold temporary files and logs. They are listed only if the request is about one of them.
  const isAsked = ({ target }: OverlayMount): boolean => `${resolve("/", request.directory)}/`.startsWith(`${target}/`);
  const overlays = plan.mounts.filter(({ type }) => type === "overlay").map((mount) => toOverlay(mount, directory));
  return listOverlayChanges({
    ...request,
    exclude: [...request.exclude, ...ownFiles],
    mounts: [...overlays, ...volumes.filter(isAsked)],
    openRoot: () => sandbox.openRoot(),
  });
}

function toOverlay({ options }: Mount, directory: string): OverlayMount {
  const valueOf = (key: string): string =>
    options.find((option) => option.startsWith(`${key}=`))?.slice(key.length + 1) ?? "";
  const upper = valueOf("upperdir");
  return {
    target: `/${partPath(upper.slice("disk/upper/".length))}`,
    upper: join(directory, upper),
    lowers: valueOf("lowerdir")
      .split(":")
      .map((path): OverlayLower => ({ path: resolve(directory, path), isPublicOnly: path.startsWith("/") })),
  };
}
