import { randomBytes } from "node:crypto";
import { mkdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import type { Clock } from "./clock.ts";
import type { Host } from "./host.ts";
import { systemCodeOf } from "./rollout-error.ts";
import { isOwnerAlive, parseOwner, readOwner, type ProcessOwner } from "./process-owner.ts";

export interface ProcessLockOptions {
  readonly host: Host;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Takes a process of another machine for alive however old its lock is. */
  readonly trustsForeign?: boolean | undefined;
  /** Told once, when somebody else holds the lock. */
  readonly onWait?: ((owner: ProcessOwner) => void) | undefined;
}

/** A held lock; disposing it gives it back. */
export type ProcessLock = AsyncDisposable;

const pollMs = 10;
const largestPollMs = 300;

/** Waits until the lock directory is ours. A lock whose process is dead is taken over, by one taker only. */
export async function acquireProcessLock(path: string, options: ProcessLockOptions): Promise<ProcessLock> {
  let waitMs = pollMs;
  let isTold = false;
  for (;;) {
    const lock = await tryProcessLock(path, options);
    if (lock !== null) return lock;
    const holder = await readHolder(path);
    if (holder !== null && !isTold) {
      isTold = true;
      options.onWait?.(holder.owner);
    }
    // At random, so that many who wait do not come back together.
    await options.clock.sleep(waitMs * (0.5 + Math.random()), options.signal);
    waitMs = Math.min(waitMs * 2, largestPollMs);
  }
}

/** The lock if it is free or its process is dead, null when somebody alive holds it. */
export async function tryProcessLock(path: string, options: ProcessLockOptions): Promise<ProcessLock | null> {
  options.signal.throwIfAborted();
  const lock = await createLock(path, options.host);
  if (lock !== null) return lock;
  const holder = await readHolder(path);
  if (holder === null) return null;
  const ageMs = options.trustsForeign === true ? 0 : options.clock.now() - holder.since;
  if (isOwnerAlive(holder.owner, options.host, ageMs)) return null;
  // Two may find the same dead lock: only the one who locks its token may remove it, and only while it still stands.
  await using taking = await tryProcessLock(`${path}.${holder.token}`, options);
  if (taking === null || (await readHolder(path))?.token !== holder.token) return null;
  await discard(path, holder.token);
  return createLock(path, options.host);
}

async function createLock(path: string, host: Host): Promise<ProcessLock | null> {
  const token = randomBytes(4).toString("hex");
  const staging = `${path}-${token}.new`;
  // The whole directory may have been cleaned away while we waited.
  await mkdir(staging, { recursive: true });
  await writeFile(`${staging}/owner.json`, JSON.stringify({ ...readOwner(host), token }));
  try {
    // Renaming a directory onto one that holds something fails, so the lock appears whole and only once.
    await rename(staging, path);
  } catch (error) {
    await rm(staging, { recursive: true, force: true });
    const code = systemCodeOf(error);
    if (code === "ENOTEMPTY" || code === "EEXIST" || code === "EPERM") return null;
    throw error;
  }
  return { [Symbol.asyncDispose]: () => discard(path, token) };
}

// Moved away first: a lock must never be seen half removed.
async function discard(path: string, token: string): Promise<void> {
  if ((await readHolder(path))?.token !== token) return;
  const away = `${path}-${randomBytes(4).toString("hex")}.old`;
  try {
    await rename(path, away);
    await rm(away, { recursive: true, force: true });
  } catch {
    // Whoever comes next sees that this process is gone.
  }
}

/** Who holds a lock, and since when; null when nobody does. */
export async function readHolder(path: string): Promise<{ owner: ProcessOwner; token: string; since: number } | null> {
  try {
    const file = `${path}/owner.json`;
    const text = await readFile(file, "utf8");
    const owner = parseOwner(text);
    const token = /"token":"([0-9a-f]{8})"/.exec(text)?.[1];
    return owner === null || token === undefined ? null : { owner, token, since: (await stat(file)).mtimeMs };
  } catch {
    return null;
  }
}
