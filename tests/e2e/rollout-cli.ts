import { spawn, spawnSync, type ChildProcess } from "node:child_process";
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { onTestFinished, type TestContext } from "vitest";

/** The checkout whose built command is tested. */
export const root = fileURLToPath(new URL("../..", import.meta.url)).replace(/\/$/, "");

/** The command as it is installed: Node and the built file. */
export const command: readonly string[] = [process.execPath, join(root, "dist", "bin.js")];

/** The module that answers the commands of the tests' agents and verifiers. */
export const scriptedShell = fileURLToPath(new URL("./scripted-shell.ts", import.meta.url));

// Longer than anything here takes on a busy machine: only a hang reaches it, and is then ended and told.
const patienceMs = 40_000;

export interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface StartOptions {
  readonly env?: Readonly<Record<string, string>> | undefined;
  /** What is started instead of the built command; the arguments follow it. */
  readonly command?: readonly string[] | undefined;
  /** How long it may take before it is taken for a hang. */
  readonly patienceMs?: number | undefined;
}

/** A command that was started and may still run. */
export interface Running {
  readonly pid: number;
  readonly child: ChildProcess;
  readonly ended: Promise<Ended>;
  /** What it printed so far. */
  stdout(): string;
  stderr(): string;
  kill(signal: NodeJS.Signals): void;
  /** Waits for something to become true, and fails with what was printed when it does not or the command ends before. */
  until(what: string, isTrue: () => boolean | Promise<boolean>): Promise<void>;
}

export interface TaskOptions {
  readonly toml?: string | undefined;
  readonly instruction?: string | undefined;
  /** Lines of the scripted shell, or of bash where one runs. */
  readonly test?: string | undefined;
  readonly solution?: string | null | undefined;
  readonly dockerfile?: string | null | undefined;
}

/** A directory of its own in which the command is run, with a home of its own; removed when the test ends. */
export interface Room {
  readonly dir: string;
  path(...parts: string[]): string;
  write(path: string, content: string): Promise<void>;
  read(path: string): Promise<string>;
  readJson<T>(path: string): Promise<T>;
  /** Every file below a directory of the room, with its path from there. */
  files(path: string): Promise<string[]>;
  writeTask(path: string, options?: TaskOptions): Promise<void>;
  /** Writes job.yaml: one agent that says hello and the tasks in ./tasks, with the given keys over it. */
  writeJob(changes?: Readonly<Record<string, unknown>>, file?: string): Promise<void>;
  start(args: readonly string[], options?: StartOptions): Running;
  run(args: readonly string[], options?: StartOptions): Promise<Ended>;
}

/** Makes a room with nothing in it. */
export async function makeRoom(): Promise<Room> {
  const dir = await mkdtemp(join(tmpdir(), "rollout-e2e-"));
  onTestFinished(() => rm(dir, { recursive: true, force: true }));
  await mkdir(join(dir, "home"));
  const path = (...parts: string[]): string => join(dir, ...parts);
  const write = async (name: string, content: string): Promise<void> => {
    await mkdir(dirname(path(name)), { recursive: true });
    await writeFile(path(name), content);
  };
  const start = (args: readonly string[], options: StartOptions = {}): Running =>
    startCommand(
      [...(options.command ?? command), ...args],
      dir,
      cleanEnv(dir, options.env),
      options.patienceMs ?? patienceMs,
    );
  return {
    dir,
    path,
    write,
    read: (name) => readFile(path(name), "utf8"),
    readJson: async <T>(name: string) => JSON.parse(await readFile(path(name), "utf8")) as T,
    files: (name) => listFiles(path(name)),
    async writeTask(name, options = {}) {
      for (const [file, content] of Object.entries(taskFiles(options))) await write(join(name, file), content);
      if (options.solution !== null) await chmod(path(name, "solution/solve.sh"), 0o644);
    },
    writeJob: (changes = {}, file = "job.yaml") => write(file, JSON.stringify({ ...plainJob(), ...changes }, null, 2)),
    start,
    run: (args, options) => start(args, options).ended,
  };
}

/** A room with a job.yaml of the given keys and tasks in ./tasks that pass. */
export async function makeJobRoom(
  changes: Readonly<Record<string, unknown>> = {},
  taskNames: readonly string[] = ["alpha"],
): Promise<Room> {
  const room = await makeRoom();
  for (const name of taskNames) await room.writeTask(`tasks/${name}`);
  await room.writeJob(changes);
  return room;
}

/** The keys of a job whose one agent runs the given lines of the scripted shell. */
export function agentOf(execute: string, more: Readonly<Record<string, unknown>> = {}): Record<string, unknown> {
  return { agents: [{ name: "agent", execute, ...more }] };
}

/** The environment of a job that the scripted shell answers. */
export const scriptedEnvironment = { type: "memory", provider_config: { handler: scriptedShell } };

declare module "vitest" {
  interface TaskMeta {
    /** Why a test could not run on this machine; told at the end of all tests. */
    notRun?: string;
  }
}

/** Ends a test that cannot run on this machine, and says why. */
export function cannotRun(context: TestContext, why: string): never {
  context.task.meta.notRun = why;
  context.skip(why);
}

/** What starts the command with its arguments on a pseudo terminal of 80 x 24, whose one stream carries stdout and stderr. */
export function onTerminal(context: TestContext, args: readonly string[], env: StartOptions["env"] = {}): StartOptions {
  if (spawnSync("script", ["--version"]).status !== 0)
    cannotRun(context, "there is no `script` of util-linux here to make a pseudo terminal with");
  const words = [...command, ...args].map((word) => `'${word}'`).join(" ");
  return {
    command: ["script", "-qec", `stty cols 80 rows 24; exec ${words}`, "/dev/null"],
    env: { TERM: "xterm-256color", ...env },
  };
}

function plainJob(): Record<string, unknown> {
  return {
    name: "job",
    environment: scriptedEnvironment,
    ...agentOf("echo hello"),
    datasets: [{ path: "./tasks" }],
  };
}

function taskFiles({ toml, instruction, test, solution, dockerfile }: TaskOptions): Record<string, string> {
  return {
    "task.toml": toml ?? 'version = "1.0"\n',
    "instruction.md": `${instruction ?? "Say hello."}\n`,
    "tests/test.sh": `${test ?? "reward 1"}\n`,
    ...(solution === null ? {} : { "solution/solve.sh": `${solution ?? "echo solved"}\n` }),
    ...(dockerfile === null ? {} : { "environment/Dockerfile": dockerfile ?? "FROM scratch\nWORKDIR /app\n" }),
  };
}

// Nothing of the machine that runs the tests may change what the command says: no CI, no colour, no cache of its user.
function cleanEnv(dir: string, more: Readonly<Record<string, string>> = {}): Record<string, string> {
  return {
    PATH: process.env["PATH"] ?? "",
    HOME: join(dir, "home"),
    XDG_CACHE_HOME: join(dir, "home", "cache"),
    LANG: "C.UTF-8",
    ...more,
  };
}

function startCommand(words: readonly string[], cwd: string, env: Record<string, string>, limitMs: number): Running {
  const [program = "", ...args] = words;
  const child = spawn(program, args, { cwd, env, stdio: ["ignore", "pipe", "pipe"] });
  const { pid } = child;
  if (pid === undefined) throw new Error(`${program} could not be started`);
  const texts = { stdout: "", stderr: "" };
  for (const name of ["stdout", "stderr"] as const) {
    child[name].setEncoding("utf8").on("data", (text: string) => (texts[name] += text));
  }
  let end: Ended | undefined;
  const giveUp = setTimeout(() => child.kill("SIGKILL"), limitMs);
  const ended = new Promise<Ended>((resolve) => {
    child.on("close", (code, signal) => {
      clearTimeout(giveUp);
      resolve((end = { code, signal, ...texts }));
    });
  });
  onTestFinished(() => {
    if (!end) child.kill("SIGKILL");
  });
  return {
    pid,
    child,
    ended,
    stdout: () => texts.stdout,
    stderr: () => texts.stderr,
    kill: (signal) => void child.kill(signal),
    async until(what, isTrue) {
      while (!(await isTrue())) {
        if (!end) await sleep(10);
        else if (!(await isTrue())) throw new Error(`never: ${what}\n${JSON.stringify(end, null, 2)}`);
      }
    },
  };
}

async function listFiles(dir: string): Promise<string[]> {
  const entries = await readdir(dir, { recursive: true, withFileTypes: true }).catch(() => []);
  return entries
    .filter((entry) => !entry.isDirectory())
    .map((entry) => join(entry.parentPath, entry.name).slice(dir.length + 1))
    .sort();
}
