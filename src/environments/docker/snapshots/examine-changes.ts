import { posix } from "node:path";
import { decodeTar } from "../../archive/decode-tar.ts";
import { assertReadableName, bodyOf } from "../../archive/examined-entry.ts";
import type { SnapshotRequest } from "../../environment.ts";
import { hasStatus } from "../connection/engine-error.ts";
import type { Engine } from "../connection/open-engine.ts";
import { readPathStat } from "../connection/path-stat.ts";
import { planLooks, type Look, type PathChange } from "./plan-looks.ts";

type Examination = Pick<SnapshotRequest, "examine" | "signal">;

/** Shows everything that a container holds beside its image; false when something was refused. */
export async function examineChanges(
  engine: Engine,
  id: string,
  changes: readonly PathChange[],
  request: Examination,
): Promise<boolean> {
  for (const look of planLooks(changes)) {
    assertReadableName(look.path);
    if (!(await examineOne(engine, id, look, request))) return false;
  }
  return true;
}

async function examineOne(
  engine: Engine,
  id: string,
  { path, isWhole }: Look,
  { examine, signal }: Examination,
): Promise<boolean> {
  const request = { method: "GET", path: `/containers/${id}/archive`, query: { path }, signal } as const;
  const answer = await engine.client.open(request).catch((error: unknown) => {
    // Names that lead nowhere, a link's among them, are all there is to see.
    if (hasStatus(error, 404)) return null;
    throw error;
  });
  if (answer === null) return examine({ path, body: [] });
  const onAbort = (): void => void answer.destroy();
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    const { isLink, linkTarget } = readPathStat(answer.headers);
    // Some engines would follow it and show what it leads to under its name.
    if (isLink) return await examine({ path, body: [Buffer.from(linkTarget)] });
    for await (const entry of decodeTar(answer)) {
      assertReadableName(entry.path);
      if (!(await examine({ path: posix.join(posix.dirname(path), entry.path), body: bodyOf(entry) }))) return false;
      if (!isWhole && entry.type === "directory") return true;
    }
    return true;
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  } finally {
    signal.removeEventListener("abort", onAbort);
    answer.destroy();
  }
}
