import { existsSync, utimesSync } from "node:fs";

/** Whether a folder of the cache is there; if so, it counts as used today. */
export function markUsed(directory: string): boolean {
  if (!existsSync(directory)) return false;
  try {
    const now = new Date();
    utimesSync(directory, now, now);
  } catch {
    // Another user's: it stays as old as it is.
  }
  return true;
}
