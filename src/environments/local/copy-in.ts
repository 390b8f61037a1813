import type { Writable } from "node:stream";
import { RolloutError } from "../../base/rollout-error.ts";
import { encodeTar } from "../archive/encode-tar.ts";
import { placementEntries } from "../archive/placement-entries.ts";
import { planPlacements, type PlacementGroup } from "../archive/plan-placements.ts";
import type { TreeStream } from "../archive/tree-entry.ts";
import type { Placement } from "../environment.ts";
import type { CommandRunner } from "./command-runner.ts";
import { toolboxMount, toolWords } from "./toolbox.ts";
import { writeHeld } from "./write-held.ts";

// Run by our own shell inside; its arguments are three counted lists and then those of tar.
const script = `set -eu
umask 022
shopt -s dotglob nullglob
run() { local name=$1; shift; ${toolboxMount}/loader --library-path ${toolboxMount}/lib "${toolboxMount}/bin/$name" "$@"; }
count=$1; shift
for ((i = 0; i < count; i++)); do for path in "$1"/*; do run rm -rf -- "$path"; done; shift; done
count=$1; shift
if ((count > 0)); then run rm -rf -- "\${@:1:count}"; shift "$count"; fi
count=$1; shift
if ((count > 0)); then run mkdir -p -- "\${@:1:count}"; shift "$count"; fi
if (($# > 0)); then run tar "$@"; fi`;

/** Puts things into a sandbox from inside, where links cannot lead to the host; rejects with `copy_failed`. */
export async function copyIn(
  runner: CommandRunner,
  items: readonly Placement[],
  mountPoints: ReadonlySet<string>,
  hasOwners: boolean,
  signal: AbortSignal,
): Promise<void> {
  for (const group of planPlacements(items, mountPoints)) await placeGroup(runner, group, hasOwners, signal);
}

async function placeGroup(
  runner: CommandRunner,
  group: PlacementGroup,
  hasOwners: boolean,
  signal: AbortSignal,
): Promise<void> {
  const { emptied, removed, parents, items } = group;
  const entries = items.length === 0 ? null : placementEntries(items, signal);
  await writeInside(runner, { emptied, removed, parents, entries, extraOptions: [], hasOwners, signal });
}

/** What is written inside in one go; paths of entries are relative to the root. */
export interface InsideWrite {
  readonly emptied: readonly string[];
  readonly removed: readonly string[];
  readonly parents: readonly string[];
  readonly entries: TreeStream | null;
  readonly extraOptions: readonly string[];
  readonly hasOwners: boolean;
  readonly signal: AbortSignal;
}

/** Removes, makes and writes files from inside; rejects with `copy_failed`. */
export async function writeInside(runner: CommandRunner, write: InsideWrite): Promise<void> {
  const { emptied, removed, parents, entries, signal } = write;
  const counted = (paths: readonly string[]): string[] => [String(paths.length), ...paths];
  const owners = write.hasOwners ? ["--numeric-owner", "--same-owner"] : ["--no-same-owner"];
  const extract = ["-x", "-p", "-P", ...owners, ...write.extraOptions, "--warning=no-timestamp", "-C", "/", "-f", "-"];
  const lists = [...counted(emptied), ...counted(removed), ...counted(parents)];
  let complaint = "";
  const result = await runner.run({
    command: [
      ...toolWords("bash"),
      "--norc",
      "-p",
      "-c",
      script,
      "copy",
      ...lists,
      ...(entries === null ? [] : extract),
    ],
    env: { PATH: "", LC_ALL: "C" },
    cwd: "/",
    user: null,
    stdout: { write: () => {} },
    stderr: { write: (chunk) => void (complaint = (complaint + Buffer.from(chunk).toString("utf8")).slice(-2000)) },
    feed: entries === null ? undefined : (input) => feed(input, encodeTar(entries), signal),
    signal,
  });
  if (result.exitCode === 0) return;
  const what = [...emptied, ...removed, ...parents].join(", ");
  throw new RolloutError("copy_failed", `cannot place ${what}: ${complaint.trim()}`);
}

async function feed(input: Writable, chunks: AsyncIterable<Uint8Array>, signal: AbortSignal): Promise<void> {
  for await (const chunk of chunks) {
    // Whoever ends early closes its input; how it ended is told by its exit.
    if (input.destroyed || signal.aborted) return;
    await writeHeld(input, chunk);
  }
}
