import { KeyTable } from "../../../base/key-table.ts";
import { scanObject } from "../../../base/scan-object.ts";
import { errorOf } from "../../executor/read-outcome.ts";
import { runKey } from "./result-lines.ts";
import { scanLines } from "./scan-lines.ts";

const [succeeded, failed] = [1, 2];

/** How many runs of a runs.jsonl have their output, and how many failed; the last line of each counts. */
export async function countRuns(path: string): Promise<{ readonly succeeded: number; readonly failed: number }> {
  const last = new KeyTable({ hasValues: true });
  const counts = [0, 0, 0];
  for await (const lines of scanLines(path))
    for (const { text } of lines) {
      const members = scanObject(text);
      const key = members === null ? null : runKey(members);
      if (members === null || key === null) continue;
      const outcome = errorOf(members) === null ? succeeded : failed;
      const before = last.get(key) ?? 0;
      counts[before] = (counts[before] ?? 0) - 1;
      counts[outcome] = (counts[outcome] ?? 0) + 1;
      last.put(key, outcome);
    }
  return { succeeded: counts[succeeded] ?? 0, failed: counts[failed] ?? 0 };
}
