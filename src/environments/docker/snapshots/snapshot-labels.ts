import type { Placement } from "../../environment.ts";
import type { ImageAnswer } from "../images/image-notes.ts";
import { logsPath } from "../log-volume.ts";
import type { PathChange } from "./plan-looks.ts";

/** The label of every snapshot, with its key. */
export const snapshotLabel = "rollout.cached-install";
// Which of the trial's own directories a snapshot holds against its will.
const dropLabel = "rollout.cached-install-drops";
// Set when /logs in it is nothing but the place where a volume was mounted.
const bareLogsLabel = "rollout.cached-install-bare-logs";

const trialPaths = [logsPath, "/tests", "/oracle"];

/** The tag of a snapshot. */
export function snapshotTag(key: string): string {
  return `rollout-install:${key}`;
}

/** An image's id, which engines write with and without the name of its hash. */
export function bareId(id: string): string {
  return id.replace(/^sha256:/, "");
}

export interface SnapshotLabelOptions {
  readonly key: string;
  readonly image: ImageAnswer;
  /** The labels of the container. */
  readonly worn: Readonly<Record<string, string>>;
  readonly changes: readonly PathChange[];
  readonly hasLogVolume: boolean;
}

/** The labels of a snapshot: those of its image, and ours. */
export function planSnapshotLabels(options: SnapshotLabelOptions): Record<string, string> {
  const { key, image, worn, changes, hasLogVolume } = options;
  const isTouched = (path: string): boolean =>
    changes.some(({ Path }) => Path === path || Path.startsWith(`${path}/`)) && !(path === logsPath && hasLogVolume);
  const own = image.Config?.Labels ?? {};
  // An engine adds the container's own wherever it finds none of that name.
  const blank = Object.keys(worn).filter((name) => !(name in own));
  return {
    ...Object.fromEntries(blank.map((name) => [name, "none"])),
    ...own,
    [snapshotLabel]: key,
    [dropLabel]: trialPaths.filter(isTouched).join(" ") || "none",
    [bareLogsLabel]: String(hasLogVolume),
  };
}

/** What has to go from an environment that was started from a snapshot; nothing for any other image. */
export function planDrops({ Config }: ImageAnswer): Placement[] {
  const drops = (Config?.Labels?.[dropLabel] ?? "").split(" ").filter((path) => trialPaths.includes(path));
  return drops.map((target) => ({ kind: target === logsPath ? "directory" : "remove", target }));
}

/** True when an image is known to bring no logs of its own. */
export function hasBareLogs({ Config }: ImageAnswer): boolean {
  return Config?.Labels?.[bareLogsLabel] === "true";
}
