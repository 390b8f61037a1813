import { createHash } from "node:crypto";
import { mkdtemp } from "node:fs/promises";
import { join } from "node:path";
import { readTree } from "../archive/read-tree.ts";
import type { CopyReport, Environment } from "../environment.ts";
import type { ConformanceSubject } from "./conformance-case.ts";

/** Where a copy lies on the host, and what was said about it. */
export interface ReadBack {
  readonly path: string;
  readonly report: CopyReport;
}

/** Copies something out of an environment to a new place on the host. */
export async function readBack(
  subject: ConformanceSubject,
  environment: Environment,
  source: string,
): Promise<ReadBack> {
  const path = join(await mkdtemp(join(subject.hostDir, "back-")), "copy");
  const report = await environment.copyFrom({ source, target: path, signal: subject.signal });
  return { path, report };
}

/** A host tree as plain data: each path with its kind, its permissions, and its bytes or target in short. */
export async function summarizeTree(hostPath: string, signal: AbortSignal): Promise<Record<string, string>> {
  const summary: Record<string, string> = {};
  for await (const entry of readTree(hostPath, signal)) {
    const mode = (entry.mode & 0o777).toString(8);
    if (entry.type === "file") {
      const hash = createHash("sha256");
      for await (const chunk of entry.body) hash.update(chunk);
      summary[entry.path] = `file ${mode} ${entry.size} ${hash.digest("base64")}`;
    } else if (entry.type === "symlink") summary[entry.path] = `link ${entry.linkTarget}`;
    else summary[entry.path] = `${entry.type} ${mode}`;
  }
  return summary;
}
