import { createHash, randomUUID } from "node:crypto";
import { createReadStream } from "node:fs";
import { chmod, readdir, rename, stat } from "node:fs/promises";
import { join } from "node:path";
import { noSecrets, type Redactor } from "../../base/redactor.ts";
import { openCappedStream } from "../../base/writers/capped-stream.ts";

/** Takes secrets out of every file below a directory, some excepted; links are not followed. */
export async function redactTree(directory: string, redactor: Redactor, exempt: ReadonlySet<string>): Promise<void> {
  if (redactor === noSecrets) return;
  for (const entry of await readdir(directory, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    if (!entry.isFile() || exempt.has(path)) continue;
    await makeReadable(path);
    if (await holdsSecret(path, redactor)) await rewrite(path, directory, redactor);
  }
}

// Its owner inside may have closed it to everybody, and only root reads on.
async function makeReadable(path: string): Promise<void> {
  const { mode } = await stat(path);
  if ((mode & 0o400) === 0) await chmod(path, mode | 0o400);
}

async function holdsSecret(path: string, redactor: Redactor): Promise<boolean> {
  const redacting = redactor.stream();
  const before = createHash("sha256");
  const after = createHash("sha256");
  for await (const chunk of createReadStream(path) as AsyncIterable<Buffer>) {
    before.update(chunk);
    after.update(redacting.push(chunk));
  }
  after.update(redacting.end());
  return before.digest("hex") !== after.digest("hex");
}

async function rewrite(path: string, directory: string, redactor: Redactor): Promise<void> {
  const { mode } = await stat(path);
  // A name that is short enough on every path, and that nobody can have taken with a file or a link of theirs.
  const staging = join(directory, `.redacting-${randomUUID()}`);
  const file = await openCappedStream(staging, Number.MAX_SAFE_INTEGER, redactor);
  for await (const chunk of createReadStream(path) as AsyncIterable<Buffer>) await file.write(chunk);
  await file.close();
  await chmod(staging, mode);
  await rename(staging, path);
}
