import type { ExecResult, NetworkPolicy } from "../environment.ts";

/** The environment's files as a command sees them; relative paths start at its working directory. */
export interface MemoryFiles {
  /** The absolute path that a command would mean. */
  resolve(path: string): string;
  read(path: string): Uint8Array;
  readText(path: string): string;
  write(path: string, content: string | Uint8Array, mode?: number): void;
  list(path: string): string[];
  exists(path: string): boolean;
  remove(path: string): void;
}

/** Something a command left running; its signal is aborted when it is ended from outside. */
export interface MemoryProcess {
  readonly pid: number;
  readonly signal: AbortSignal;
  /** It ends by itself. */
  exit(): void;
}

/** One command that an environment was asked to run. */
export interface MemoryCall {
  readonly environmentId: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  /** Undefined for the image's own user. */
  readonly user: string | undefined;
  readonly network: NetworkPolicy;
  /** Aborted when the command is cancelled or killed; a handler that ignores it is left behind. */
  readonly signal: AbortSignal;
  /** Its methods throw `environment_lost` once the command and all it spawned have been ended or frozen. */
  readonly files: MemoryFiles;
  /** Resolves when the output has been taken; what comes after the end is dropped. */
  stdout(chunk: string | Uint8Array): Promise<void>;
  stderr(chunk: string | Uint8Array): Promise<void>;
  /** Leaves a process behind that lives until it is killed or exits. */
  spawn(command: string): MemoryProcess;
}

/** How a command ended, when an exit code does not say it all. */
export type MemoryExit = Pick<ExecResult, "exitCode"> & Partial<ExecResult>;

/** Answers commands in place of a shell. */
export type MemoryHandler = (call: MemoryCall) => Promise<number | MemoryExit> | number | MemoryExit;
