import { inspect } from "node:util";
import type { JsonObject } from "../../base/json.ts";
import { plainText } from "../../base/terminal-text.ts";
import { costText, durationText, markText } from "../../report/number-text.ts";
import type { RunKind, Unit, Usage } from "../../store/run.ts";

const nouns: Readonly<Record<RunKind, string>> = { job: "trial", dataset: "item", experiment: "example" };

type Fact = readonly [name: string, value: string];

/** Returns a trial, an item or an example with its input, output and scores, for people. */
export function describeUnit(unit: Unit, kind: RunKind): string {
  const { failure, details, truncated = [] } = unit;
  const facts: Fact[] = [
    [nouns[kind], unit.key],
    ["status", unit.status],
    ...valueFact("input", unit.input),
    ...valueFact("output", unit.output),
    ...valueFact("expected", unit.expected),
    ["time", `${durationText(unit.durationSec)}${unit.tries > 1 ? `, ${unit.tries} tries` : ""}`],
    ...(failure === null ? [] : [["error", `${failure.type} (${failure.cause}): ${failure.message}`] as const]),
    ...membersOf("metadata", details["metadata"]),
    ...(unit.usage === null ? [] : [["usage", usageText(unit.usage)] as const]),
    ...unit.scores.flatMap(({ name, value, label, reason, error, metadata }): Fact[] => {
      const words = [value === null ? "no score" : markText(value), label ?? "", error ?? reason ?? ""];
      return [[name, words.filter((text) => text !== "").join("; ")], ...membersOf(name, metadata)];
    }),
    ...unit.warnings.map((warning): Fact => ["warning", warning]),
    ...truncated.map(({ field, bytes }): Fact => ["cut", `${field} has ${bytes} bytes; --json prints all of it`]),
  ];
  const width = Math.max(...facts.map(([name]) => name.length)) + 2;
  return `${facts.map(([name, value]) => plainText(`${name.padEnd(width)}${value}`)).join("\n")}\n`;
}

function valueFact(name: string, value: unknown): Fact[] {
  return value === undefined ? [] : [[name, valueText(value)]];
}

// Times that SDKs of executors add; the time is shown already.
const timeMembers = new Set(["started_at", "completed_at", "execution_time_ms"]);

function membersOf(name: string, members: unknown): Fact[] {
  if (typeof members !== "object" || members === null) return [];
  const shown = Object.entries(members as JsonObject).filter(([member]) => !timeMembers.has(member));
  return shown.map(([member, value]) => [`${name}.${member}`, valueText(value)]);
}

function usageText({ inputTokens, outputTokens, costUsd }: Usage): string {
  const tokens = `${inputTokens ?? "?"} tokens in, ${outputTokens ?? "?"} out`;
  return costUsd === null ? tokens : `${tokens}, ${costText(costUsd)}`;
}

function valueText(value: unknown): string {
  return typeof value === "string" ? value : inspect(value, { depth: 6, breakLength: Number.POSITIVE_INFINITY });
}
