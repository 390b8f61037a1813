import { describe, expect, test } from "vitest";
import { createLog, logLevels, silentLog, type LogEntry } from "./log.ts";

function sinkAt(level: (typeof logLevels)[number]): {
  level: typeof level;
  seen: LogEntry[];
  write(entry: LogEntry): void;
} {
  const seen: LogEntry[] = [];
  return { level, seen, write: (entry) => void seen.push(entry) };
}

describe("createLog", () => {
  test.each([
    ["debug", ["debug", "info", "warn", "error"]],
    ["info", ["info", "warn", "error"]],
    ["warn", ["warn", "error"]],
    ["error", ["error"]],
  ] as const)("a sink at %s gets %j", (level, expected) => {
    const sink = sinkAt(level);
    const log = createLog(() => 0, [sink]);
    for (const each of logLevels) log.write(each, "x");
    expect(sink.seen.map((entry) => entry.level)).toEqual(expected);
  });

  test("an entry carries its time, message and fields to every sink", () => {
    const sinks = [sinkAt("debug"), sinkAt("warn")];
    createLog(() => 42, sinks).write("warn", "slow disk", { ms: 7 });
    createLog(() => 43, sinks).write("error", "gone");
    const expected = [
      { at: 42, level: "warn", message: "slow disk", fields: { ms: 7 } },
      { at: 43, level: "error", message: "gone", fields: {} },
    ];
    for (const sink of sinks) expect(sink.seen).toEqual(expected);
  });

  test("a silent log takes everything and says nothing", () => {
    expect(silentLog.write("error", "x", { a: 1 })).toBeUndefined();
  });
});
