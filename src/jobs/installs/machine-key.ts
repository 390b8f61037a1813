import { randomBytes, randomUUID } from "node:crypto";
import { chmodSync, linkSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { RolloutError, systemCodeOf } from "../../base/rollout-error.ts";

const keyBytes = 32;

/** A random key that only this user of this machine has, made when it is asked for the first time. */
export function readMachineKey(cacheDir: string): Buffer {
  const file = join(cacheDir, "install-key");
  const known = readIfAny(file);
  if (known) return known;
  mkdirSync(cacheDir, { recursive: true });
  const staging = `${file}.${randomUUID()}`;
  writeFileSync(staging, randomBytes(keyBytes), { mode: 0o600, flag: "wx" });
  try {
    // Unlike a rename it leaves a key that another process was faster with.
    linkSync(staging, file);
  } catch (error) {
    if (systemCodeOf(error) !== "EEXIST") throw error;
  } finally {
    rmSync(staging, { force: true });
  }
  const made = readIfAny(file);
  if (made) return made;
  throw new RolloutError("io_failed", `${file} was removed while it was made`);
}

function readIfAny(file: string): Buffer | null {
  let key: Buffer;
  try {
    key = readFileSync(file);
  } catch (error) {
    if (systemCodeOf(error) === "ENOENT") return null;
    throw new RolloutError("io_failed", `cannot read ${file}`, { cause: error });
  }
  if (key.length !== keyBytes) {
    throw new RolloutError("io_failed", `${file} is not a key of ours`, { hint: "remove it; a new one is made" });
  }
  if ((statSync(file).mode & 0o077) !== 0) chmodSync(file, 0o600);
  return key;
}
