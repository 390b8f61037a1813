import { join } from "node:path";
import { openRegularFile } from "../../base/open-regular-file.ts";
import { mediaTypeOf } from "../../store/media-type.ts";
import type { Artifact } from "../../store/run.ts";
import type { JobIndex } from "./job-index.ts";
import { parseTable } from "./journal-lines.ts";

/** The artifact that holds the instruction of a trial's task. */
export const instructionName = "instruction.md";

const maxTextsBytes = 1 << 20;

export interface Instruction {
  readonly artifact: Artifact;
  readonly modifiedAt: number;
  readonly bytes: Buffer;
}

/** Reads the instruction as it was when the trial ran. Returns null if the job did not keep it. */
export async function readInstruction({ state, paths }: JobIndex, key: string): Promise<Instruction | null> {
  const hash = state.taskHash(key);
  // The hash becomes part of a path.
  if (hash === null || !/^[0-9a-f]+$/.test(hash)) return null;
  await using file = await openRegularFile(join(paths.tasks, `${hash}.json`));
  if (file === null || file.stats.size > maxTextsBytes) return null;
  const text = parseTable(await file.handle.readFile("utf8"))?.[instructionName];
  if (typeof text !== "string") return null;
  const bytes = Buffer.from(text);
  const artifact = { name: instructionName, size: bytes.length, mediaType: mediaTypeOf(instructionName) };
  return { artifact, modifiedAt: file.stats.mtimeMs, bytes };
}
