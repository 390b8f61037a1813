import type { Clock } from "../../base/clock.ts";
import { createLog, type Log, type LogEntry, type LogLevel } from "../../base/log.ts";
import { redactJson, type Redactor } from "../../base/redactor.ts";
import { messageOf } from "../../base/rollout-error.ts";
import { openCappedStream } from "../../base/writers/capped-stream.ts";

const logLimitBytes = 64 << 20;

/** Opens the job's log file, which takes everything, and a log that also tells what reaches `level`. */
export async function openJobLog(
  path: string,
  clock: Clock,
  redactor: Redactor,
  level: LogLevel,
  onLog: (entry: LogEntry) => void,
): Promise<AsyncDisposable & { readonly log: Log }> {
  const file = await openCappedStream(path, logLimitBytes, redactor);
  const toFile = (entry: LogEntry): void => {
    const { at, level, message, fields } = entry;
    void file.write(
      Buffer.from(`${redactJson({ at: new Date(at).toISOString(), level, message, ...fields }, redactor)}\n`),
    );
  };
  const log = createLog(
    () => clock.now(),
    [
      { level: "debug", write: toFile },
      { level, write: (entry) => onLog(redactEntry(entry, redactor)) },
    ],
  );
  return {
    log,
    async [Symbol.asyncDispose]() {
      await file.close().catch((error: unknown) =>
        onLog({
          at: clock.now(),
          level: "warn",
          message: `the job's log file is not whole: ${messageOf(error)}`,
          fields: {},
        }),
      );
    },
  };
}

function redactEntry(entry: LogEntry, redactor: Redactor): LogEntry {
  const fields = JSON.parse(redactJson(entry.fields, redactor)) as LogEntry["fields"];
  return { ...entry, message: redactor.text(entry.message), fields };
}
