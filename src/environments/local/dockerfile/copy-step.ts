import { createReadStream, openSync, readSync, closeSync, statSync } from "node:fs";
import { join, posix } from "node:path";
import { createGunzip } from "node:zlib";
import { RolloutError } from "../../../base/rollout-error.ts";
import { decodeTar } from "../../archive/decode-tar.ts";
import type { TreeEntry } from "../../archive/tree-entry.ts";
import { writeInside } from "../copy-in.ts";
import { findUser } from "../find-user.ts";
import type { LocalEnvironment } from "../local-environment.ts";
import { toolWords } from "../toolbox.ts";
import { findSources, readSource, type BuildContext } from "../../archive/build-context.ts";
import type { ReplayStep } from "./plan-replay.ts";

type CopyStep = ReplayStep & { readonly kind: "copy" };

/** The sources of a step as paths of the context; rejects with `image_build_failed` when one names nothing. */
export function resolveSources(step: CopyStep, context: BuildContext): string[] {
  return step.sources.flatMap((source) => {
    const found = findSources(context, source);
    if (found.length > 0) return found;
    throw new RolloutError("image_build_failed", `Dockerfile line ${step.line}: there is no ${source} in the context`);
  });
}

/** Copies from a context into an environment as COPY and ADD do. */
export async function runCopyStep(
  environment: LocalEnvironment,
  step: CopyStep,
  context: BuildContext,
  hasOwners: boolean,
  signal: AbortSignal,
): Promise<void> {
  const sources = resolveSources(step, context);
  const owner = step.chown === null ? null : await findOwner(environment, step.chown, signal);
  const isFile = (path: string): boolean => statSync(join(context.directory, path)).isFile();
  const goesInside =
    step.isDirectory || !sources.every(isFile) || (await isDirectoryInside(environment, step.target, signal));
  async function* entries(): AsyncGenerator<TreeEntry> {
    for (const source of sources) {
      const file = join(context.directory, source);
      const unpacked = step.unpacks && isFile(source) ? openArchive(file) : null;
      const place =
        isFile(source) && unpacked === null && goesInside
          ? posix.join(step.target, posix.basename(source))
          : step.target;
      for await (const entry of unpacked ?? readSource(context, source, signal)) {
        if (entry.type === "other") continue;
        const owned = unpacked ? {} : { uid: owner?.uid ?? 0, gid: owner?.gid ?? 0, mode: step.chmod ?? entry.mode };
        const inside = posix.join(place, entry.path).slice(1);
        if (inside === "") continue;
        // A hard link of an archive names a path of the archive.
        const link = entry.type === "hardlink" ? { linkTarget: posix.join(place, entry.linkTarget).slice(1) } : {};
        yield { ...entry, ...owned, ...link, path: inside };
      }
    }
  }
  const parent = goesInside ? step.target : posix.dirname(step.target);
  await writeInside(environment.runner, {
    emptied: [],
    removed: [],
    parents: parent === "/" ? [] : [parent],
    entries: entries(),
    extraOptions: ["--no-overwrite-dir", "--keep-directory-symlink"],
    hasOwners,
    signal,
  });
}

async function findOwner(
  environment: LocalEnvironment,
  name: string,
  signal: AbortSignal,
): Promise<{ uid: number; gid: number }> {
  const { user } = await findUser(environment.runner, name, signal);
  return user ?? { uid: 0, gid: 0 };
}

async function isDirectoryInside(environment: LocalEnvironment, path: string, signal: AbortSignal): Promise<boolean> {
  const nothing = { write: () => {} };
  const { exitCode } = await environment.runner.run({
    command: [...toolWords("bash"), "--norc", "-p", "-c", '[ -d "$1" ]', "bash", path],
    env: { PATH: "" },
    cwd: "/",
    user: null,
    stdout: nothing,
    stderr: nothing,
    signal,
  });
  return exitCode === 0;
}

// By its first bytes and not by its name, as Docker does.
function openArchive(file: string): AsyncIterable<TreeEntry> | null {
  const head = Buffer.alloc(262);
  const descriptor = openSync(file, "r");
  try {
    readSync(descriptor, head, 0, head.length, 0);
  } finally {
    closeSync(descriptor);
  }
  if (head.toString("latin1", 257, 262) === "ustar") return decodeTar(createReadStream(file));
  const isPacked = head[0] === 0x1f && head[1] === 0x8b && /\.(tar\.gz|tgz)$/.test(file);
  return isPacked ? decodeTar(createReadStream(file).pipe(createGunzip())) : null;
}
