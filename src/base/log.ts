export const logLevels = ["debug", "info", "warn", "error"] as const;
export type LogLevel = (typeof logLevels)[number];

export interface LogEntry {
  readonly at: number;
  readonly level: LogLevel;
  readonly message: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

/** Where we say what we do, for the people who debug a run; never a substitute for an event or a result. */
export interface Log {
  write(level: LogLevel, message: string, fields?: Readonly<Record<string, unknown>>): void;
}

/** A log that hands each entry to every sink whose level it reaches. */
export function createLog(
  now: () => number,
  sinks: readonly { readonly level: LogLevel; write(entry: LogEntry): void }[],
): Log {
  return {
    write(level, message, fields = {}) {
      for (const sink of sinks) {
        if (logLevels.indexOf(level) >= logLevels.indexOf(sink.level))
          sink.write({ at: now(), level, message, fields });
      }
    },
  };
}

/** A log that keeps nothing, for callers who did not ask for one. */
export const silentLog: Log = { write: () => {} };
