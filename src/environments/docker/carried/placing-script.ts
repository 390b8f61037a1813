import type { PlacementGroup } from "../../archive/plan-placements.ts";
import type { TreeEntry } from "../../archive/tree-entry.ts";
import type { ToolMarks } from "../../integrity/tool-marks.ts";
import type { HeldPlacement } from "./held-placement.ts";

// The kernel takes words of up to 128 KiB.
const mostCharacters = 100_000;
const usualFileMode = 0o644;

/** What a shell calls to put things in place; each is looked at as a tool of the tests. */
type PlacingTool = "chmod" | "chown" | "ln" | "mkdir" | "rm";

/**
 * What a bash of the container runs as root to make the placements in their order, each tool from where it is looked at;
 * null when it lacks one, or when there is too much. The mode mask must take write rights from all but the owner.
 */
export function planPlacingScript(groups: readonly PlacementGroup<HeldPlacement>[], tools: ToolMarks): string | null {
  // A mount point can be emptied only, which takes the shell's own patterns.
  if (groups.some(({ emptied }) => emptied.length > 0)) return null;
  const steps = groups.flatMap(planGroup);
  const lines: string[] = [];
  for (const step of steps) {
    if ("text" in step) lines.push(`printf %s ${quote(step.text)} >${quote(step.path)}`);
    else {
      const path = [`/usr/bin/${step.tool}`, `/bin/${step.tool}`].find((place) => tools.has(place));
      if (path === undefined) return null;
      lines.push([path, ...step.flags, "--", ...step.paths.map(quote)].join(" "));
    }
  }
  const script = lines.join(" &&\n");
  return Buffer.byteLength(script) > mostCharacters ? null : script;
}

interface ToolStep {
  readonly tool: PlacingTool;
  readonly flags: readonly string[];
  readonly paths: readonly string[];
}

type Step = ToolStep | { readonly text: string; readonly path: string };

function planGroup({ removed, parents, items }: PlacementGroup<HeldPlacement>): Step[] {
  const entries = items.flatMap((item) => (item.kind === "held" ? item.entries : []));
  const gather = (tool: PlacingTool, flagsOf: (entry: TreeEntry) => readonly string[] | null): ToolStep[] => {
    const byFlags = Map.groupBy(entries, (entry) => flagsOf(entry)?.join(" ") ?? "");
    return [...byFlags]
      .filter(([flags]) => flags !== "")
      .map(([flags, list]) => ({ tool, flags: [flags], paths: list.map(pathOf) }));
  };
  return [
    ...(removed.length > 0 ? [{ tool: "rm", flags: ["-rf"], paths: removed } as const] : []),
    ...(parents.length > 0 ? [{ tool: "mkdir", flags: ["-p"], paths: parents } as const] : []),
    // Those of one mode at once; parents come first, because each has to be there.
    ...mergeNeighbours(entries.filter(({ type }) => type === "directory")).map(
      ({ mode, paths }) => ({ tool: "mkdir", flags: [`-m ${octal(mode)}`], paths }) as const,
    ),
    ...entries.flatMap((entry) => (entry.type === "file" ? [{ text: textOf(entry.body), path: pathOf(entry) }] : [])),
    ...entries.flatMap((entry) =>
      entry.type === "symlink"
        ? [{ tool: "ln", flags: ["-s"], paths: [entry.linkTarget, pathOf(entry)] } as const]
        : [],
    ),
    ...gather("chown", ({ uid, gid }) => (uid === 0 && gid === 0 ? null : [`-h ${uid}:${gid}`])),
    ...gather("chmod", ({ type, mode }) => (type === "file" && mode !== usualFileMode ? [octal(mode)] : null)),
  ];
}

function mergeNeighbours(
  directories: readonly TreeEntry[],
): { readonly mode: number; readonly paths: readonly string[] }[] {
  const merged: { mode: number; paths: string[] }[] = [];
  for (const entry of directories) {
    const last = merged.at(-1);
    if (last?.mode === entry.mode) last.paths.push(pathOf(entry));
    else merged.push({ mode: entry.mode, paths: [pathOf(entry)] });
  }
  return merged;
}

function textOf(body: AsyncIterable<Uint8Array> | Iterable<Uint8Array>): string {
  if (!(Symbol.iterator in body)) throw new Error("what is held has been read");
  return Buffer.concat([...body]).toString("utf8");
}

function pathOf({ path }: TreeEntry): string {
  return `/${path}`;
}

function octal(mode: number): string {
  return mode.toString(8);
}

function quote(word: string): string {
  return `'${word.replaceAll("'", "'\\''")}'`;
}
