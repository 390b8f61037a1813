import { differingTools, isTool, type ToolMarks } from "../integrity/tool-marks.ts";
import type { Engine } from "./connection/open-engine.ts";
import type { ContainerRoot } from "./container-root.ts";

export interface ContainerTools {
  readonly engine: Engine;
  readonly id: string;
  readonly root: ContainerRoot | null;
  /** The marks at the start; null where this machine does not see the container's files. */
  readonly before: ToolMarks | null;
}

/** The tools of a container that are not as its image has them, as this machine sees them or else as the engine does. */
export async function changedTools(tools: ContainerTools, signal: AbortSignal): Promise<readonly string[]> {
  const { engine, id, root, before } = tools;
  const now = root?.readTools() ?? null;
  if (before !== null && now !== null) return differingTools(before, now);
  const path = `/containers/${id}/changes`;
  const changes = await engine.client.json<readonly { readonly Path: string }[] | null>({
    method: "GET",
    path,
    signal,
  });
  return (changes ?? []).map(({ Path }) => Path).filter(isTool);
}
