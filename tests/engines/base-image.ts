import { readTree } from "../../src/environments/archive/read-tree.ts";
import { encodeTar } from "../../src/environments/archive/encode-tar.ts";
import type { TreeEntry } from "../../src/environments/archive/tree-entry.ts";
import type { Engine } from "../../src/environments/docker/connection/open-engine.ts";
import { readHostSystem } from "./host-packages.ts";

/** The images that tests start from. */
const baseImages = ["debian:bookworm-slim", "ubuntu:24.04"] as const;

const importedName = "rollout-test-base:latest";
const never = new AbortController().signal;
const directories: Readonly<Record<string, number>> = {
  proc: 0o555,
  sys: 0o555,
  dev: 0o755,
  run: 0o755,
  root: 0o700,
  home: 0o755,
  mnt: 0o755,
  opt: 0o755,
  srv: 0o755,
  tmp: 0o1777,
  "var/tmp": 0o1777,
  "var/cache/apt/archives/partial": 0o755,
  "var/lib/apt/lists/partial": 0o755,
  "var/log/apt": 0o755,
  "var/lib/dpkg/updates": 0o755,
  "var/lib/dpkg/triggers": 0o755,
};

/** The base images that an engine lacks. */
export async function missingBaseImages({ client }: Engine): Promise<string[]> {
  const found = await Promise.all(
    baseImages.map((image) =>
      client.text({ method: "GET", path: `/images/${encodeURIComponent(image)}/json`, signal: never }).then(
        () => [],
        () => [image],
      ),
    ),
  );
  return found.flat();
}

/** Gives an engine the base images it lacks, made from this machine's own packages. */
export async function importBaseImages(engine: Engine): Promise<void> {
  const missing = await missingBaseImages(engine);
  if (missing.length === 0) return;
  const { client } = engine;
  const answer = await client.text({
    method: "POST",
    path: "/images/create",
    query: { fromSrc: "-", repo: importedName.split(":")[0], changes: 'CMD ["bash"]' },
    headers: { "content-type": "application/x-tar" },
    body: encodeTar(systemEntries()),
    signal: never,
  });
  if (/"error"/.test(answer)) throw new Error(`the base image could not be imported: ${answer.slice(-500)}`);
  // Podman imports under no tag but the usual one.
  for (const image of missing) {
    const [repo, tag] = image.split(":");
    await client.text({ method: "POST", path: `/images/${importedName}/tag`, query: { repo, tag }, signal: never });
  }
}

/** The files of a small Debian system. */
export async function* systemEntries(): AsyncGenerator<TreeEntry> {
  const { paths, status } = readHostSystem();
  const root = { uid: 0, gid: 0, mtimeMs: 0 };
  for (const [path, mode] of Object.entries(directories)) yield { ...root, type: "directory", path, mode };
  const ours = new Set(Object.keys(directories));
  for (const path of paths) {
    if (ours.has(path.slice(1))) continue;
    for await (const entry of readTree(path, never)) {
      yield { ...entry, path: path.slice(1) };
      // Only the first, which is itself: what a directory holds is in the list when it belongs.
      break;
    }
  }
  const text = Buffer.from(status);
  const file = { ...root, type: "file", path: "var/lib/dpkg/status", mode: 0o644 } as const;
  yield { ...file, size: text.length, body: [text] };
}
