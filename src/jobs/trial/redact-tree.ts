import { createHash, randomUUID } from "node:crypto";
import { createReadStream, type Dirent, existsSync } from "node:fs";
import { chmod, readdir, readFile, readlink, rename, rm, rmdir, stat, symlink } from "node:fs/promises";
import { basename, dirname, join, relative } from "node:path";
import { noSecrets, type Redactor } from "../../base/redactor.ts";
import { openCappedStream } from "../../base/writers/capped-stream.ts";

// Of these there may be many, and a stream for each would cost more than the reading.
const smallFileBytes = 64 * 1024;

/** Takes secrets out of the files, names and links below a directory, some files excepted; links are not followed. */
export async function redactTree(directory: string, redactor: Redactor, exempt: ReadonlySet<string>): Promise<void> {
  if (redactor === noSecrets) return;
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  for (const entry of entries) {
    const path = pathOf(entry);
    if (entry.isSymbolicLink()) await redactLink(path, redactor);
    if (entry.isFile() && !exempt.has(path)) await redactFile(path, directory, redactor);
  }
  // What is inside goes first: until then its path is the one that was found.
  const named = entries.filter(({ name }) => redactor.text(name) !== name).map(pathOf);
  for (const path of named.sort((a, b) => b.length - a.length)) {
    await rename(path, freeName(join(path, "..", redactor.text(basename(path)))));
  }
  if (entries.some((entry) => isSplit(relative(directory, pathOf(entry)), redactor)))
    await joinSplitNames(directory, redactor);
}

// A secret with a slash in it may be the name of a folder and of what is in it.
function isSplit(path: string, redactor: Redactor): boolean {
  const clean = redactor.text(path);
  return (
    clean !== path &&
    clean !==
      path
        .split("/")
        .map((name) => redactor.text(name))
        .join("/")
  );
}

async function joinSplitNames(directory: string, redactor: Redactor): Promise<void> {
  const entries = await readdir(directory, { recursive: true, encoding: "utf8" });
  const ends = entries.filter((path) => isSplit(path, redactor) && !isSplit(dirname(path), redactor));
  if (ends.length === 0) return;
  for (const path of ends) {
    await rename(join(directory, path), freeName(join(directory, redactor.text(path))));
    for (let parent = dirname(path); parent !== "."; parent = dirname(parent)) {
      // One that holds something else stays.
      const isGone = await rmdir(join(directory, parent)).then(
        () => true,
        () => false,
      );
      if (!isGone) break;
    }
  }
  // What was moved may hold it once more, further down.
  await joinSplitNames(directory, redactor);
}

/** Takes secrets out of one file; what is on its way stands in the given directory meanwhile. */
export async function redactFile(path: string, directory: string, redactor: Redactor): Promise<void> {
  if (await holdsSecret(path, await makeReadable(path), redactor)) await rewrite(path, directory, redactor);
}

function pathOf({ parentPath, name }: Dirent): string {
  return join(parentPath, name);
}

function freeName(clean: string): string {
  let free = clean;
  for (let number = 2; existsSync(free); number++) free = `${clean}-${number}`;
  return free;
}

async function redactLink(path: string, redactor: Redactor): Promise<void> {
  const target = await readlink(path);
  const clean = redactor.text(target);
  if (clean === target) return;
  await rm(path);
  await symlink(clean, path);
}

// Its owner inside may have closed it to everybody, and only root reads on.
async function makeReadable(path: string): Promise<number> {
  const { mode, size } = await stat(path);
  if ((mode & 0o400) === 0) await chmod(path, mode | 0o400);
  return size;
}

async function holdsSecret(path: string, size: number, redactor: Redactor): Promise<boolean> {
  const redacting = redactor.stream();
  if (size <= smallFileBytes) {
    const content = await readFile(path);
    return !Buffer.concat([redacting.push(content), redacting.end()]).equals(content);
  }
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
