import { closeSync, lstatSync } from "node:fs";
import { join } from "node:path";
import type { Clock } from "../../base/clock.ts";
import { differingTools, readToolMarks, toolPaths, type ToolMarks } from "../integrity/tool-marks.ts";
import { partName, type BaseSystem } from "./base-system.ts";
import type { Layer } from "./plan-mounts.ts";
import type { Sandbox } from "./sandbox.ts";

// The host's own tools may be upgraded while a job runs.
const freshForMs = 60_000;

/** The marks of tools in environments that nothing has run in yet: the same for all that stand on the same layers. */
export class FreshTools {
  readonly #clock: Clock;
  readonly #read = new Map<string, { readonly marks: ToolMarks; readonly atMs: number }>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Those of a sandbox that nothing has run in; null when it is gone. */
  of(sandbox: Sandbox, base: BaseSystem, layers: readonly Layer[]): ToolMarks | null {
    const key = [base.key, ...layers.map((layer) => layer.key)].join(" ");
    const nowMs = this.#clock.monotonic();
    const known = this.#read.get(key);
    if (known && nowMs - known.atMs < freshForMs) return known.marks;
    const marks = readTools(sandbox);
    for (const [old, { atMs }] of this.#read) if (nowMs - atMs >= freshForMs) this.#read.delete(old);
    if (marks !== null) this.#read.set(key, { marks, atMs: nowMs });
    return marks;
  }
}

export interface ToolLookRequest {
  readonly sandbox: Sandbox;
  readonly base: BaseSystem;
  /** What the tools were before anything ran. */
  readonly fresh: ToolMarks;
  /** The disk of the environment where the host can see it, else null. */
  readonly disk: string | null;
}

/** The tools that are not what they were. */
export function findChangedTools({ sandbox, base, fresh, disk }: ToolLookRequest): readonly string[] {
  if (disk !== null && isUntouched(base, fresh, join(disk, "upper"))) return [];
  const now = readTools(sandbox);
  return now === null ? [] : differingTools(fresh, now);
}

// Nobody inside can mount anything, so that every change lies in the layer on top, which rarely has anything there.
function isUntouched(base: BaseSystem, fresh: ToolMarks, upper: string): boolean {
  const seen = new Map<string, boolean>();
  const overlays = base.overlays.map(({ path }) => path).sort((one, other) => other.length - one.length);
  const isAbsent = (path: string): boolean => {
    const overlay = overlays.find((place) => path.startsWith(`/${place}/`)) ?? "";
    const names = path.slice(overlay === "" ? 1 : overlay.length + 2).split("/");
    let place = join(upper, partName(overlay));
    let inside = overlay === "" ? "" : `/${overlay}`;
    for (const name of names) {
      place += `/${name}`;
      inside += `/${name}`;
      const known = seen.get(inside) ?? isNothing(place);
      seen.set(inside, known);
      if (known) return true;
      // A directory of the same name may hide what lies below it.
      if (hasToolsIn(fresh, inside)) return false;
    }
    return false;
  };
  return toolPaths.every(isAbsent);
}

function isNothing(path: string): boolean {
  try {
    return lstatSync(path, { throwIfNoEntry: false }) === undefined;
  } catch {
    return false;
  }
}

function hasToolsIn(marks: ToolMarks, path: string): boolean {
  return marks.has(path) || [...marks.keys()].some((tool) => tool.startsWith(`${path}/`));
}

function readTools(sandbox: Sandbox): ToolMarks | null {
  const descriptor = sandbox.openRoot();
  if (descriptor === null) return null;
  try {
    return readToolMarks(`/proc/self/fd/${descriptor}`);
  } finally {
    closeSync(descriptor);
  }
}
