import { RolloutError } from "../../base/rollout-error.ts";
import { encodeTar } from "../archive/encode-tar.ts";
import { placementEntries } from "../archive/placement-entries.ts";
import { planPlacements, type PlacementGroup } from "../archive/plan-placements.ts";
import { requireSource } from "../archive/require-source.ts";
import type { TreeEntry } from "../archive/tree-entry.ts";
import type { Placement } from "../environment.ts";
import { unmounted, type ReadGroup } from "./carried-files.ts";
import type { PodShell } from "./commands/pod-shell.ts";

// After the words E (empty these), R (remove these) and P (make these) come absolute paths; then an archive, if any.
const script = `shopt -s dotglob nullglob; echo "$EUID $(pwd -P)"; archive=$1; shift
there() { [ -e "$1" ] || [ -L "$1" ]; }
for word; do case $word in E|R|P) mode=$word; continue;; esac
  case $mode in
    E) inside=("$word"/*); for ((k = 0; k < \${#inside[@]}; k += 200)); do rm -rf -- "\${inside[@]:k:200}" || exit 21; done;;
    R) there "$word" && { rm -rf -- "$word" || exit 21; there "$word" && exit 21; };;
    P) [ -d "$word" ] || mkdir -p -- "$word" || exit 22;;
  esac
done
[ "$archive" = 1 ] || exit 0
exec tar -x -p -f - -C /`;

export interface CopyInOptions {
  readonly shell: PodShell;
  /** What is mounted there cannot be removed, only emptied. */
  readonly mounted: readonly string[];
  readonly signal: AbortSignal;
}

/** Who runs commands in a Pod, and where. */
export interface Whereabouts {
  readonly uid: number;
  readonly workdir: string;
}

/** Puts things into a Pod with its own tar; a copy that is cut off is made again from the start. */
export async function copyIn(items: readonly Placement[], options: CopyInOptions): Promise<Whereabouts | null> {
  for (const item of items) if (item.kind === "tree") await requireSource(item.source);
  const { mounted, signal } = options;
  let found: Whereabouts | null = null;
  for (const group of planPlacements(items, new Set(mounted))) {
    const entries = (): AsyncIterable<TreeEntry> => unmounted(placementEntries(group.items, signal), mounted);
    found = await placeGroup(group, group.items.length > 0 ? () => encodeTar(entries()) : undefined, options);
  }
  return found;
}

/** Puts things into a Pod that have been read already. */
export async function copyInGroups(groups: readonly ReadGroup[], options: CopyInOptions): Promise<void> {
  for (const group of groups) {
    const { archive } = group;
    await placeGroup(group, archive === null ? undefined : () => arrayOf(archive), options);
  }
}

/** Who we are in a Pod and where; takes one small command. */
export async function lookAround(shell: PodShell, signal: AbortSignal): Promise<Whereabouts> {
  return placeGroup({ emptied: [], removed: [], parents: [] }, undefined, { shell, mounted: [], signal });
}

async function placeGroup(
  { emptied, removed, parents }: Pick<PlacementGroup, "emptied" | "removed" | "parents">,
  input: (() => AsyncIterable<Uint8Array>) | undefined,
  { shell, signal }: CopyInOptions,
): Promise<Whereabouts> {
  const words = ["E", ...emptied, "R", ...removed, "P", ...parents];
  const { exitCode, stdout, stderr } = await shell.runTool({
    script,
    command: [input === undefined ? "0" : "1", ...words],
    input,
    signal,
  });
  if (exitCode !== 0) throw copyFailure(exitCode, stderr.trim());
  const [, uid = "0", workdir = "/"] = /^(\d+) (.*)$/m.exec(stdout) ?? [];
  return { uid: Number(uid), workdir };
}

async function* arrayOf(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}

function copyFailure(exitCode: number, complaint: string): RolloutError {
  const hint = exitCode === 127 ? "use an image that has `bash`, `tar`, `rm` and `mkdir`" : undefined;
  const what =
    exitCode === 21
      ? "something cannot be replaced"
      : exitCode === 22
        ? "a directory cannot be made"
        : `tar ended with ${exitCode}`;
  return new RolloutError("copy_failed", `copying into the Pod: ${what}${complaint === "" ? "" : `: ${complaint}`}`, {
    hint,
  });
}
