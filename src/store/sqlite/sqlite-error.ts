import { messageOf, RolloutError, type ErrorCode } from "../../base/rollout-error.ts";

const busyCodes: readonly number[] = [5, 6];
const refusedCodes: readonly number[] = [8, 14];

interface Meaning {
  readonly code: ErrorCode;
  readonly text: string;
  readonly hint?: string;
  readonly transient?: boolean;
}

// Primary result codes of SQLite that a user can do something about.
const meanings: Readonly<Record<number, Meaning>> = {
  1: {
    code: "io_failed",
    text: "has tables that this rollout cannot read",
    hint: "another program may have changed them; name another store with --store",
  },
  3: { code: "io_failed", text: "cannot be accessed: permission denied", hint: "check the permissions of the file" },
  5: { code: "io_failed", text: "is busy: another process has been writing to it for too long", transient: true },
  6: { code: "io_failed", text: "is busy: another process has been writing to it for too long", transient: true },
  8: { code: "io_failed", text: "is read-only", hint: "check the permissions of the file and its directory" },
  10: { code: "io_failed", text: "cannot be read or written: the disk reported an error" },
  11: {
    code: "io_failed",
    text: "is damaged",
    hint: "restore a backup, or try `sqlite3 FILE .recover`",
  },
  13: { code: "io_failed", text: "cannot grow: the disk is full", hint: "free some space; stored data is kept" },
  14: { code: "io_failed", text: "cannot be opened", hint: "check that its directory exists and is writable" },
  26: { code: "config_invalid", text: "is not an SQLite database", hint: "name another file with --store" },
};

/** True when another connection is writing. */
export function isBusy(thrown: unknown): boolean {
  return busyCodes.includes(primaryCodeOf(thrown) ?? 0);
}

/** True when SQLite cannot write the files it needs beside the database. */
export function isRefused(thrown: unknown): boolean {
  return refusedCodes.includes(primaryCodeOf(thrown) ?? 0);
}

/** Turns an error of SQLite into a `RolloutError`. */
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
