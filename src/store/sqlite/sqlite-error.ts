import { messageOf, RolloutError, type ErrorCode } from "../../base/rollout-error.ts";

const busyCodes: readonly number[] = [5, 6];
const refusedCodes: readonly number[] = [8, 14];

interface Meaning {
  readonly code: ErrorCode;
  readonly text: string;
  readonly hint?: string;
  readonly transient?: boolean;
}

// The primary result codes of SQLite that a person can do something about.
const meanings: Readonly<Record<number, Meaning>> = {
  1: {
    code: "io_failed",
    text: "has tables that this version of rollout cannot read",
    hint: "an older store is brought up to date by a command that writes to it; a newer one needs a newer rollout",
  },
  3: { code: "io_failed", text: "may not be read or written", hint: "look at the permissions of the file" },
  5: { code: "io_failed", text: "is busy: another process has been writing for too long", transient: true },
  6: { code: "io_failed", text: "is busy: another process has been writing for too long", transient: true },
  8: { code: "io_failed", text: "can only be read", hint: "look at the permissions of the file and its directory" },
  10: { code: "io_failed", text: "cannot be read or written: the disk reports an error" },
  11: {
    code: "io_failed",
    text: "is damaged",
    hint: "restore it from a copy; `sqlite3 FILE .recover` may save the rest",
  },
  13: { code: "io_failed", text: "cannot grow: the disk is full", hint: "make room; what was written before is kept" },
  14: { code: "io_failed", text: "cannot be opened", hint: "look whether its directory exists and may be written to" },
  26: { code: "config_invalid", text: "is no SQLite database", hint: "name another file with --store" },
};

/** True when another connection is writing. */
export function isBusy(thrown: unknown): boolean {
  return busyCodes.includes(primaryCodeOf(thrown) ?? 0);
}

/** True when SQLite may not write what it needs beside the file. */
export function isRefused(thrown: unknown): boolean {
  return refusedCodes.includes(primaryCodeOf(thrown) ?? 0);
}

/** What SQLite threw, in the words of the house. */
export function sqliteError(thrown: unknown, location: string): unknown {
  const primary = primaryCodeOf(thrown);
  if (primary === undefined) return thrown;
  const { code, text, hint, transient } = meanings[primary] ?? { code: "io_failed" as const, text: messageOf(thrown) };
  return new RolloutError(code, `the store ${location} ${text}`, { hint, transient, cause: thrown });
}

function primaryCodeOf(thrown: unknown): number | undefined {
  if (!(thrown instanceof Error) || !("errcode" in thrown) || typeof thrown.errcode !== "number") return undefined;
  return thrown.errcode & 0xff;
}
