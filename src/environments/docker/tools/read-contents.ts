import { createHash } from "node:crypto";
import { decodeTar } from "../../archive/decode-tar.ts";
import { bodyOf } from "../../archive/examined-entry.ts";
import { hasStatus } from "../connection/engine-error.ts";
import type { Engine } from "../connection/open-engine.ts";

/** A hash of what each of the given files of a container holds; without those that are not there. */
export async function readContents(
  engine: Engine,
  id: string,
  paths: readonly string[],
  signal: AbortSignal,
): Promise<ReadonlyMap<string, string>> {
  const contents = new Map<string, string>();
  // Each takes the engine a process, which others wait for as well.
  for (const path of paths) {
    const content = await readContent(engine, id, path, signal);
    if (content !== null) contents.set(path, content);
  }
  return contents;
}

async function readContent(engine: Engine, id: string, path: string, signal: AbortSignal): Promise<string | null> {
  const request = { method: "GET", path: `/containers/${id}/archive`, query: { path }, signal } as const;
  const answer = await engine.client.open(request).catch((error: unknown) => {
    if (hasStatus(error, 404)) return null;
    throw error;
  });
  if (answer === null) return null;
  const onAbort = (): void => void answer.destroy();
  signal.addEventListener("abort", onAbort, { once: true });
  const hash = createHash("sha256");
  try {
    for await (const entry of decodeTar(answer)) {
      hash.update(entry.type);
      for await (const chunk of bodyOf(entry)) hash.update(chunk);
    }
    return hash.digest("hex");
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  } finally {
    signal.removeEventListener("abort", onAbort);
    answer.destroy();
  }
}
