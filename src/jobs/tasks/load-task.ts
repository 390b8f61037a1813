import type { Dirent } from "node:fs";
import { open, readdir, realpath, stat } from "node:fs/promises";
import { join, sep } from "node:path";
import { formatProblem, type Problem } from "../../base/problem.ts";
import { messageOf, systemCodeOf } from "../../base/rollout-error.ts";
import { parseTaskFile } from "./parse-task-file.ts";
import type { BrokenTask, TaskEntry } from "./task.ts";
import { findComposeFile } from "./unsupported-features.ts";

export interface LoadTaskOptions {
  readonly directory: string;
  readonly name: string;
  readonly datasetName: string;
  readonly gitCommitId: string | null;
  /** How problems name the directory; the directory itself when absent. */
  readonly displayPath?: string | undefined;
  /** Refuses files that lead out of the directory through links, for tasks that somebody else wrote. */
  readonly confined?: boolean | undefined;
  readonly signal: AbortSignal;
}

const largestTaskFileBytes = 4 * 2 ** 20;

/** The task in a directory, or everything that keeps it from being run; it rejects only when the signal is aborted. */
export async function loadTask(options: LoadTaskOptions): Promise<TaskEntry> {
  const { directory, name, datasetName, gitCommitId, signal } = options;
  signal.throwIfAborted();
  const shown = options.displayPath ?? directory;
  const contents = await listDirectory(directory);
  if (typeof contents === "string") return breakTask(options, "task_not_found", [toProblem(shown, contents)]);
  const inside = options.confined ? await realpath(directory) : null;
  const check = (path: string): Promise<string | null> => findFault({ directory, contents, inside }, path);
  const taskFault = await check("task.toml");
  const taskFile =
    taskFault === null ? await readTaskFile(directory, shown) : failWith(`${shown}/task.toml`, taskFault);
  const problems = [...taskFile.problems];
  for (const path of ["instruction.md", "tests/test.sh"]) {
    const fault = await check(path);
    if (fault !== null) problems.push(toProblem(`${shown}/${path}`, fault));
  }
  const compose = findComposeFile(await listNames(join(directory, "environment")), `${shown}/environment`);
  if (compose !== null) problems.push(compose);
  const escape = inside === null ? null : await findEscape(directory, "environment", inside);
  if (escape !== null) problems.push(toProblem(`${shown}/environment`, escape));
  const hasSolution = (await check("solution/solve.sh")) === null;
  signal.throwIfAborted();
  const { config } = taskFile;
  if (config === null || problems.some((problem) => problem.severity === "error")) {
    return breakTask(options, "task_invalid", problems);
  }
  return { status: "ready", name, datasetName, directory, config, hasSolution, gitCommitId, warnings: problems };
}

/** A task that cannot be run, with the first of its errors as its message. */
function breakTask(
  task: Pick<LoadTaskOptions, "name" | "datasetName" | "gitCommitId"> & { readonly directory: string | null },
  failureType: BrokenTask["failureType"],
  problems: readonly Problem[],
): BrokenTask {
  const { name, datasetName, directory, gitCommitId } = task;
  const errors = problems.filter((problem) => problem.severity === "error");
  const more = errors.length > 1 ? ` (and ${errors.length - 1} more)` : "";
  const message = errors[0] === undefined ? "is broken" : `${formatProblem(errors[0])}${more}`;
  return {
    status: "broken",
    name,
    datasetName,
    directory,
    gitCommitId,
    failureType,
    message,
    problems,
    transient: false,
  };
}

function toProblem(file: string, message: string): Problem {
  return { file, message, severity: "error" };
}

function failWith(file: string, message: string): ReturnType<typeof parseTaskFile> {
  return { config: null, problems: [toProblem(file, message)] };
}

async function listDirectory(directory: string): Promise<ReadonlyMap<string, Dirent> | string> {
  try {
    const entries = await readdir(directory, { withFileTypes: true });
    return new Map(entries.map((entry) => [entry.name, entry]));
  } catch (error) {
    return systemCodeOf(error) === "ENOTDIR" ? "is not a directory" : describeReadError(error);
  }
}

async function listNames(directory: string): Promise<string[]> {
  return readdir(directory).catch(() => []);
}

function describeReadError(error: unknown): string {
  const code = systemCodeOf(error);
  if (code === "ENOENT" || code === "ENOTDIR") return "does not exist";
  if (code === "ELOOP") return "is a link that leads to itself";
  return code === "EACCES" || code === "EPERM" ? "may not be read" : `cannot be read: ${messageOf(error)}`;
}

interface Place {
  readonly directory: string;
  readonly contents: ReadonlyMap<string, Dirent>;
  /** Where links must stay; null lets them lead anywhere. */
  readonly inside: string | null;
}

// The listing answers most questions; thousands of tasks are loaded before a job, and each call to the disk counts.
async function findFault({ directory, contents, inside }: Place, path: string): Promise<string | null> {
  const [top = "", rest] = path.split("/");
  const entry = contents.get(top);
  if (entry === undefined) return "does not exist";
  if (rest === undefined && !entry.isSymbolicLink()) return entry.isFile() ? null : "is not a file";
  try {
    if (!(await stat(join(directory, path))).isFile()) return "is not a file";
  } catch (error) {
    return describeReadError(error);
  }
  return inside === null ? null : findEscape(directory, path, inside);
}

async function findEscape(directory: string, path: string, inside: string): Promise<string | null> {
  try {
    const target = await realpath(join(directory, path));
    return target === inside || target.startsWith(inside + sep) ? null : "is a link that leads out of the task";
  } catch (error) {
    return systemCodeOf(error) === "ENOENT" ? null : describeReadError(error);
  }
}

async function readTaskFile(directory: string, shown: string): Promise<ReturnType<typeof parseTaskFile>> {
  const file = `${shown}/task.toml`;
  let bytes: Buffer;
  try {
    await using handle = await open(join(directory, "task.toml"));
    const { size } = await handle.stat();
    if (size > largestTaskFileBytes) return failWith(file, `is larger than ${largestTaskFileBytes} bytes`);
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(size), 0, size, 0);
    bytes = buffer.subarray(0, bytesRead);
  } catch (error) {
    return failWith(file, describeReadError(error));
  }
  let text: string;
  try {
    // The decoder also takes a byte order mark away.
    text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return failWith(file, "is not UTF-8 text");
  }
  return parseTaskFile(text, file);
}
