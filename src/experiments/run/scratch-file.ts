import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { noSecrets } from "../../base/redactor.ts";
import { openLineFile } from "../../base/writers/line-file.ts";

/** A file of lines that nobody else may read, and that goes when it is disposed. */
export interface ScratchFile extends AsyncDisposable {
  readonly path: string;
  append(line: string): Promise<void>;
}

export async function openScratchFile(): Promise<ScratchFile> {
  const directory = await mkdtemp(join(tmpdir(), "rollout-experiment-"));
  const path = join(directory, "lines.jsonl");
  const file = await openLineFile(path, noSecrets);
  return {
    path,
    append: (line) => file.append(line),
    async [Symbol.asyncDispose]() {
      await file[Symbol.asyncDispose]();
      await rm(directory, { recursive: true, force: true });
    },
  };
}
