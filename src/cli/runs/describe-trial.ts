import { open, readFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { shellWord, shownPath } from "../../base/shown-path.ts";
import { plainText } from "../../base/terminal-text.ts";
import { readKeptTexts } from "../../jobs/inputs/task-texts.ts";
import { findFailedChecks } from "../../jobs/output/failed-checks.ts";
import { jobPaths } from "../../jobs/output/job-paths.ts";
import { listArtifacts } from "../../jobs/output/trial-artifacts.ts";
import type { TrialResultFile } from "../../jobs/output/trial-result-schema.ts";
import { costText, countText, durationFormat, markText } from "../../report/number-text.ts";

const streams: readonly string[] = [
  "setup/stdout.txt",
  "setup/stderr.txt",
  "command/stdout.txt",
  "command/stderr.txt",
  "logs/verifier/stdout.txt",
  "logs/verifier/stderr.txt",
];
const maxLineLength = 500;
const tailBytes = 64 * 1024;
const tailLines = 8;
const maxInstructionLines = 12;

export interface DescribeTrialOptions {
  /** Prints streams whole. */
  readonly isFull: boolean;
  readonly cwd: string;
}

/** Returns a trial for people: reward, failure and phases, then its instruction, files, streams and failed checks. */
export async function describeTrial(
  dir: string,
  trial: TrialResultFile,
  { isFull, cwd }: DescribeTrialOptions,
): Promise<string> {
  const lines = [
    ...factsOf(dir, trial).map(([name, value]) => `${name.padEnd(13)}${value}`),
    ...(await errorLines(dir, trial, cwd)),
    ...trial.warnings.map((warning) => `warning: ${warning}`),
    ...(await instructionLines(dir, trial)),
    ...(await fileLines(dir)),
    ...(await failedCheckLines(dir)),
  ];
  // One by one: a stream can have more lines than a call takes arguments.
  for (const name of streams) for (const line of await streamLines(dir, name, isFull)) lines.push(line);
  return `${lines.map(plainText).join("\n")}\n`;
}

function factsOf(dir: string, trial: TrialResultFile): [string, string][] {
  const { durations: time, agent_usage: usage } = trial;
  const phases = [
    ["environment", time.environment_setup_sec],
    [trial.agent_setup_cached ? "setup (cached)" : "setup", time.agent_setup_sec],
    ["agent", time.agent_execution_sec],
    ["verifier", time.verifier_sec],
  ] as const;
  const source = trial.task.source ? `, from ${trial.task.source}` : "";
  const facts: [string, string][] = [
    ["agent", trial.agent_name],
    ["task", `${trial.dataset_name}/${trial.task_name} #${trial.attempt}${source}`],
    ["reward", trial.reward === null ? "none" : markText(trial.reward)],
    ["time", timesText(time.total_sec, phases)],
    ["cost", trial.cost === null ? "unknown" : costText(trial.cost)],
    ["commit", trial.task_git_commit_id ?? "not in a Git repository"],
    ["metadata", Object.keys(trial.task.metadata).length > 0 ? JSON.stringify(trial.task.metadata) : "none"],
  ];
  if (usage) {
    const tokens = [
      ["in", usage.input_tokens],
      ["out", usage.output_tokens],
    ].flatMap(([name, count]) => (count === null ? [] : [`${count} tokens ${name}`]));
    const cost = usage.cost_usd === null ? "cost unknown" : costText(usage.cost_usd);
    facts.push(["agent usage", [cost, ...tokens].join(", ")]);
  }
  if (trial.tries > 1) facts.push(["tries", `${trial.tries}; the earlier ones are in ${join(dir, "retries")}`]);
  if (trial.leftovers.length > 0)
    facts.push(["left running", trial.leftovers.map((process) => process.command).join("; ")]);
  for (const kept of trial.teardown?.kept ?? [])
    facts.push(["kept", `${kept.id}${kept.enter ? `; enter it with: ${kept.enter}` : ""}`]);
  return facts;
}

function timesText(totalSec: number, phases: readonly (readonly [string, number | null])[]): string {
  const reached = phases.flatMap(([name, sec]) => (sec === null ? [] : [[name, sec] as const]));
  if (reached.length === 0) return "no phase was reached";
  const format = durationFormat([totalSec, ...reached.map(([, sec]) => sec)]);
  const missing = phases.filter(([, sec]) => sec === null).map(([name]) => name);
  const parts = reached.map(([name, sec]) => `${name} ${format(sec)}`);
  return `${format(totalSec)}: ${parts.join(", ")}${missing.length > 0 ? `; not reached: ${missing.join(", ")}` : ""}`;
}

async function errorLines(dir: string, { error }: TrialResultFile, cwd: string): Promise<string[]> {
  if (!error) return [];
  const phase = error.phase === null ? "" : ` in ${error.phase.replaceAll("_", " ")}`;
  return [
    "",
    `${error.type}${phase}, cause: ${error.cause}`,
    ...error.message.split("\n").map((line) => `  ${line}`),
    ...(await readAdvice(dir, cwd)).map((line) => `  ${line}`),
  ];
}

// The hint and the path of a build log are in error.txt only.
async function readAdvice(dir: string, cwd: string): Promise<string[]> {
  const text = await readFile(join(dir, "error.txt"), "utf8").catch(() => "");
  const jobDir = jobDirOf(dir);
  const advice = text.split("\n").flatMap((line) => {
    const log = /^log: (.+)$/.exec(line)?.[1];
    if (log !== undefined) return [`log: ${shellWord(shownPath(join(jobDir, log), cwd))}`];
    return line.startsWith("hint: ") ? [line] : [];
  });
  return [...new Set(advice)];
}

// A trial is three directories deep in its job.
function jobDirOf(dir: string): string {
  return resolve(dir, "..", "..", "..");
}

async function instructionLines(dir: string, trial: TrialResultFile): Promise<string[]> {
  const text = await readInstruction(dir, trial);
  if (text === null) return [];
  const lines = text.trimEnd().split("\n");
  const shown = lines.slice(0, maxInstructionLines).map((line) => `  ${cut(line)}`);
  const rest = lines.length - shown.length;
  return ["", "instruction", ...shown, ...(rest > 0 ? [`  … ${rest} more lines`] : [])];
}

async function readInstruction(dir: string, { inputs }: TrialResultFile): Promise<string | null> {
  if (inputs.task === null) return null;
  const texts = await readKeptTexts(jobPaths(jobDirOf(dir)).tasks, inputs.task);
  return texts["instruction.md"] ?? null;
}

async function fileLines(dir: string): Promise<string[]> {
  const files = (await listArtifacts(dir)).filter(({ size }) => size > 0);
  if (files.length === 0) return [];
  const width = Math.max(...files.map(({ size }) => countText(size, "byte").length));
  return ["", "files", ...files.map(({ name, size }) => `  ${countText(size, "byte").padStart(width)}  ${name}`)];
}

async function failedCheckLines(dir: string): Promise<string[]> {
  const { text } = await readTail(join(dir, "logs/verifier/stdout.txt"), 1 << 20).catch(() => ({ text: "" }));
  const failed = findFailedChecks(text);
  return failed.length === 0 ? [] : ["", "failed checks", ...failed.map((line) => `  ${cut(line)}`)];
}

async function streamLines(dir: string, name: string, isFull: boolean): Promise<string[]> {
  const path = join(dir, name);
  const limit = isFull ? Number.POSITIVE_INFINITY : tailBytes;
  const { text, isWhole } = await readTail(path, limit).catch(() => ({ text: "", isWhole: true }));
  if (text.trim() === "") return [];
  const lines = text.trimEnd().split("\n");
  const shown = isFull ? lines : lines.slice(-tailLines);
  const isCut = shown.length < lines.length || !isWhole;
  const count = isWhole ? `last ${shown.length} of ${lines.length} lines` : "its end";
  return [
    "",
    `${name}${isCut ? ` (${count}; --full prints it whole)` : ""}`,
    ...shown.map((line) => `  ${isFull ? line : cut(line)}`),
  ];
}

function cut(line: string): string {
  return line.length > maxLineLength ? `…${line.slice(-maxLineLength)}` : line;
}

async function readTail(path: string, maxBytes: number): Promise<{ readonly text: string; readonly isWhole: boolean }> {
  await using file = await open(path, "r");
  const { size } = await file.stat();
  const from = Math.max(0, size - maxBytes);
  const { buffer, bytesRead } = await file.read(Buffer.alloc(size - from), 0, size - from, from);
  return { text: buffer.toString("utf8", 0, bytesRead), isWhole: from === 0 };
}
