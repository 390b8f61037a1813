import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Placement } from "../environment.ts";
import type { ConformanceSubject } from "./conformance-case.ts";
import { readBack, summarizeTree } from "./read-back.ts";

/** A text file to place. */
export function textFile(target: string, content: string, mode = 0o644): Placement {
  return { kind: "file", target, content, mode };
}

/** Makes a tree of text files on the host and gives its path. */
export async function makeTree(
  subject: ConformanceSubject,
  name: string,
  files: Readonly<Record<string, string>>,
): Promise<string> {
  const root = join(subject.hostDir, name);
  await mkdir(root);
  for (const [path, content] of Object.entries(files)) {
    await mkdir(join(root, path, ".."), { recursive: true });
    await writeFile(join(root, path), content);
  }
  return root;
}

/** Places things one round after the other and gives the tree that is there in the end. */
export async function placeAndRead(
  subject: ConformanceSubject,
  ...rounds: readonly Placement[][]
): Promise<Record<string, string>> {
  const environment = await subject.createEnvironment();
  for (const items of rounds) await environment.copyTo(items, subject.signal);
  const { path } = await readBack(subject, environment, subject.scratch);
  return summarizeTree(path, subject.signal);
}
