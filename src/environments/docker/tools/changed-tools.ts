import { differingTools, isTool, toolPaths, type ToolMarks } from "../../integrity/tool-marks.ts";
import type { Engine } from "../connection/open-engine.ts";
import type { ContainerRoot } from "../container-root.ts";
import type { BorrowContainer, ImageTools } from "./image-tools.ts";
import { lookAtTools } from "./look-at-tools.ts";
import { readContents } from "./read-contents.ts";

export interface ContainerTools {
  readonly engine: Engine;
  readonly id: string;
  readonly root: ContainerRoot | null;
  /** The marks at the start; null where this machine does not see the container's files. */
  readonly before: ToolMarks | null;
  /** The same of the container's image, as the engine sees it. */
  readonly imageTools: ImageTools;
  readonly borrow: BorrowContainer;
  /** What lies there is not in the container's own layer. */
  readonly mountPoints: readonly string[];
}

/** The tools of a container that are not as its image has them, as this machine sees them or else as the engine does. */
export async function changedTools(tools: ContainerTools, signal: AbortSignal): Promise<readonly string[]> {
  const { engine, root, before } = tools;
  const now = root?.readTools() ?? null;
  if (before !== null && now !== null) return differingTools(before, now);
  const isListed = engine.layer === "listed" && !toolPaths.some((path) => isMounted(path, tools));
  return isListed ? listChanged(tools, signal) : compareTools(tools, signal);
}

async function listChanged({ engine, id }: ContainerTools, signal: AbortSignal): Promise<readonly string[]> {
  const request = { method: "GET", path: `/containers/${id}/changes`, signal } as const;
  const changes = await engine.client.json<readonly { readonly Path: string }[] | null>(request);
  return (changes ?? []).map(({ Path }) => Path).filter(isTool);
}

// A file that only looks the same is in the container's own layer, so that it cannot be larger than all of that.
async function compareTools(tools: ContainerTools, signal: AbortSignal): Promise<readonly string[]> {
  const { engine, id, imageTools, borrow } = tools;
  const image = await imageTools.find(borrow);
  const [marks, layerBytes] = await Promise.all([
    lookAtTools(engine, id, image.marks, signal),
    readLayerBytes(tools, signal),
  ]);
  const differing = differingTools(image.marks, marks);
  const isDoubtful = ([path, size]: readonly [string, number]): boolean =>
    !differing.includes(path) && (size <= layerBytes || isMounted(path, tools));
  const doubtful = [...image.sizes].filter(isDoubtful).map(([path]) => path);
  const [wanted, found] = await Promise.all([
    imageTools.read(doubtful, borrow),
    readContents(engine, id, doubtful, signal),
  ]);
  const replaced = doubtful.filter((path) => wanted.get(path) !== found.get(path));
  return [...differing, ...replaced].sort();
}

// Rejects when the container is gone, which looks like one without tools.
async function readLayerBytes({ engine, id }: ContainerTools, signal: AbortSignal): Promise<number> {
  const isMeasured = engine.layer === "measured";
  const request = { method: "GET", path: `/containers/${id}/json`, query: { size: isMeasured }, signal } as const;
  const { SizeRw } = await engine.client.json<{ readonly SizeRw?: number | null }>(request);
  return isMeasured ? (SizeRw ?? Infinity) : Infinity;
}

function isMounted(path: string, { mountPoints }: ContainerTools): boolean {
  return mountPoints.some((point) => path === point || path.startsWith(`${point}/`));
}
