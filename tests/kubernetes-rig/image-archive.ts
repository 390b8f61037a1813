import { createHash } from "node:crypto";
import { createReadStream, createWriteStream, mkdtempSync, renameSync, rmSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { encodeTar } from "../../src/environments/archive/encode-tar.ts";
import type { TreeEntry, TreeStream } from "../../src/environments/archive/tree-entry.ts";

export interface ImageArchiveOptions {
  /** The name that the image gets where it is imported. */
  readonly ref: string;
  readonly entries: TreeStream;
  /** What stands before them in the layer, encoded already. */
  readonly before?: readonly Uint8Array[];
  readonly config: Readonly<Record<string, unknown>>;
  readonly target: string;
}

/** Writes an image of one layer to a file that `ctr images import` and `docker load` take. */
export async function writeImageArchive(options: ImageArchiveOptions): Promise<void> {
  const { ref, entries, before = [], config, target } = options;
  const directory = mkdtempSync(join(dirname(target), "image-"));
  try {
    const layer = join(directory, "layer.tar");
    const hash = createHash("sha256");
    await pipeline(
      async function* () {
        yield* before;
        yield* encodeTar(entries);
      },
      async function* (source: AsyncIterable<Uint8Array>) {
        for await (const chunk of source) {
          hash.update(chunk);
          yield chunk;
        }
      },
      createWriteStream(layer),
    );
    const architecture = process.arch === "arm64" ? "arm64" : "amd64";
    const rootfs = { type: "layers", diff_ids: [`sha256:${hash.digest("hex")}`] };
    const image = JSON.stringify({ architecture, os: "linux", config, rootfs, history: [{ created_by: "rollout" }] });
    const manifest = JSON.stringify([{ Config: "config.json", RepoTags: [ref], Layers: ["layer.tar"] }]);
    const whole = join(directory, "image.tar");
    await pipeline(Readable.from(encodeTar(archiveEntries({ manifest, image, layer }))), createWriteStream(whole));
    renameSync(whole, target);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

function* archiveEntries(parts: { manifest: string; image: string; layer: string }): Generator<TreeEntry> {
  const head = { type: "file", mode: 0o644, uid: 0, gid: 0 } as const;
  const text = (path: string, content: string): TreeEntry => {
    const bytes = Buffer.from(content);
    return { ...head, path, size: bytes.length, body: [bytes] };
  };
  yield text("manifest.json", parts.manifest);
  yield text("config.json", parts.image);
  yield { ...head, path: "layer.tar", size: statSync(parts.layer).size, body: createReadStream(parts.layer) };
}
