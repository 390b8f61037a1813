import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { messageOf } from "../../src/base/rollout-error.ts";

/** Where a benchmark keeps its files. */
export interface BenchDisk extends Disposable {
  readonly directory: string;
  readonly description: string;
}

/**
 * A file system of the benchmark's own, an ext4 with a journal that lies in memory; the machine's disk where that cannot
 * be had. Without a journal ext4 looks at every file that was removed in the last half minute before it makes another one.
 */
export function openBenchDisk(prefix: string): BenchDisk {
  const directory = mkdtempSync(join(tmpdir(), prefix));
  const remove = (): void => rmSync(directory, { recursive: true, force: true });
  if (process.env["ROLLOUT_BENCH_DISK"] === "machine")
    return { directory, description: "on the machine's disk, as asked", [Symbol.dispose]: remove };
  const held = join(directory, "memory");
  const mounted = join(directory, "disk");
  const undo: string[] = [];
  const close = (): void => {
    // Lazily: the kernel may still take apart the namespaces of what has ended, and a loop device lets go late.
    for (const path of undo.toReversed()) execFileSync("umount", ["-l", path]);
    remove();
  };
  try {
    for (const path of [held, mounted]) mkdirSync(path);
    execFileSync("mount", ["-t", "tmpfs", "-o", "size=5g", "tmpfs", held], { stdio: "pipe" });
    undo.push(held);
    const image = join(held, "ext4");
    writeFileSync(image, "");
    truncateSync(image, 4 * 2 ** 30);
    execFileSync("mkfs.ext4", ["-q", image], { stdio: "pipe" });
    execFileSync("mount", ["-o", "loop", image, mounted], { stdio: "pipe" });
    undo.push(mounted);
    return { directory: mounted, description: "on an ext4 with a journal, in memory", [Symbol.dispose]: close };
  } catch (error) {
    const why = messageOf(error).split("\n")[0] ?? "";
    const description = `on the machine's disk, because no file system of its own can be had (${why})`;
    return { directory, description, [Symbol.dispose]: close };
  }
}
