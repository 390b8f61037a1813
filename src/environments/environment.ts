import type { Clock } from "../base/clock.ts";
import type { Host } from "../base/host.ts";
import type { Log } from "../base/log.ts";
import type { Redactor } from "../base/redactor.ts";

/** A tool whose change is no sign of cheating, because installing a package changes it too. It may explain failed tests. */
export const loaderCachePath = "/etc/ld.so.cache";

/** How well a provider keeps a limit: by itself, as a hint to well-behaved programs, or not at all. */
export type Enforcement = "enforced" | "advisory" | "none";

/** What a provider can do; shared code asks here and never compares a provider's name. */
export interface Capabilities {
  /** Commands are run by a real shell. */
  readonly shell: boolean;
  /** `exec` can run as another user of the image. */
  readonly users: boolean;
  /** Owners of files survive a copy in. */
  readonly owners: boolean;
  /** A stopped environment keeps its files and can be entered again. */
  readonly stop: boolean;
  /** All processes can be held still, so that files can be read while nobody writes. */
  readonly freeze: boolean;
  readonly limits: {
    readonly cpus: Enforcement;
    readonly memory: Enforcement;
    readonly storage: Enforcement;
    /** The number of processes. Absent means none; after `probe` the engine's own word. */
    readonly pids?: Enforcement | undefined;
  };
  /** Network policies beside `full` that it can enforce; after `probe` the engine's own word. */
  readonly network: readonly ("none" | "allow")[];
  /** The files of an environment can be saved, and others started from them; absent means no. */
  readonly snapshots?: boolean | undefined;
  /** One that is being removed is in nobody's way, so that the next may start meanwhile; absent means no. */
  readonly removalOverlaps?: boolean | undefined;
  /** `listChanges` can tell which files differ from the image, without reading every file. Default: false. */
  readonly changes?: boolean | undefined;
}

export type NetworkPolicy = "full" | "none" | { readonly allow: readonly string[] };

export interface ResourceLimits {
  readonly cpus: number;
  readonly memoryBytes: number;
  readonly storageBytes: number;
  /** Processes and threads at once. Default: `defaultPidsLimit`. */
  readonly pids?: number | undefined;
}

/** More processes than any honest task starts, and far fewer than stop a machine. */
export const defaultPidsLimit = 4096;

/** What a task asks of an environment, as far as a provider may know it. */
export interface TaskEnvironment {
  readonly taskName: string;
  /** The task's `environment/` directory; null when it has none. */
  readonly contextDir: string | null;
  readonly dockerImage: string | null;
  readonly forceBuild: boolean;
  readonly limits: ResourceLimits;
}

/** How the image of a task comes to be; tasks with the same key share one. */
export type ImagePlan =
  | { readonly kind: "build"; readonly key: string; readonly contextDir: string; readonly noCache: boolean }
  | { readonly kind: "pull"; readonly key: string; readonly ref: string }
  | { readonly kind: "base"; readonly key: string; readonly ref: string };

/** A provider's verdict on a task before anything starts. A problem makes the task invalid; a warning is told once. */
export interface TaskCheck {
  readonly problems: readonly string[];
  readonly warnings: readonly string[];
  /** Null exactly when there are problems. */
  readonly image: ImagePlan | null;
}

export interface BuildImageRequest {
  readonly plan: ImagePlan & { readonly kind: "build" };
  /** Everything the build prints, as it prints it. */
  readonly output: OutputSink;
  /** For what is made for the build alone, so that `findEnvironments` finds it when nobody has removed it. */
  readonly labels: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
}

export interface PullImageRequest {
  readonly plan: ImagePlan & { readonly kind: "pull" };
  readonly output: OutputSink;
  readonly signal: AbortSignal;
}

export interface CreateEnvironmentRequest {
  /** What `buildImage` or `pullImage` returned, or the plan's `ref` for a base image. */
  readonly image: string;
  /** Unique in the job and safe as a host name: letters, digits and dashes, at most 63. */
  readonly name: string;
  readonly limits: ResourceLimits;
  /** Placed before the environment is handed over, so that an adapter can do it in its cheapest way. */
  readonly place: readonly Placement[];
  readonly labels: Readonly<Record<string, string>>;
  /** Told what the start waits for, each time that changes: a place on an engine, an image; for people. */
  readonly onWait?: ((words: string) => void) | undefined;
  readonly signal: AbortSignal;
}

/** Something that is put into an environment. */
export type Placement =
  /** A host directory; what stands at the target is replaced, never merged into. Modes and links are kept. */
  | { readonly kind: "tree"; readonly source: string; readonly target: string }
  | { readonly kind: "file"; readonly content: string | Uint8Array; readonly target: string; readonly mode: number }
  /** An empty directory that every user of the environment may write to; what it held is removed. */
  | { readonly kind: "directory"; readonly target: string }
  | { readonly kind: "link"; readonly target: string; readonly to: string }
  | { readonly kind: "remove"; readonly target: string };

/** Takes bytes as they come and copies what it keeps; a returned promise holds the producer back. */
export interface OutputSink {
  write(chunk: Uint8Array): void | Promise<void>;
}

export interface ExecRequest {
  readonly command: readonly string[];
  /** Added to the image's own variables. */
  readonly env: Readonly<Record<string, string>>;
  /** The image's working directory when absent. */
  readonly cwd?: string | undefined;
  /** The image's user when absent. */
  readonly user?: string | undefined;
  readonly stdout: OutputSink;
  readonly stderr: OutputSink;
  readonly signal: AbortSignal;
}

/** How a command ended by itself. */
export interface ExecResult {
  /** Null when a signal ended it. */
  readonly exitCode: number | null;
  readonly signal: string | null;
  /** True when the memory limit killed it, or something that it started. */
  readonly outOfMemory: boolean;
  /** True when the environment was ended because it stored more than its limit; absent where that cannot be. */
  readonly outOfStorage?: boolean | undefined;
  /** True when it was ended because the environment had more processes than its limit; absent where that cannot be. */
  readonly outOfPids?: boolean | undefined;
}

/** How much of a tree is copied out. */
export interface CopyLimits {
  /** Files, directories, links and whatever else has a name; the copy ends with the last that is taken. */
  readonly entries: number;
  /** A file with which they would become more is left out, and the copy goes on. */
  readonly bytes: number;
}

export interface CopyFromRequest {
  readonly source: string;
  /** A host directory (for a directory) or file path; its parent must exist. What a directory holds already stays, unless the copy brings the same name. */
  readonly target: string;
  /** Paths inside the source that are written under another name, so that they do not replace what is there. */
  readonly renames?: Readonly<Record<string, string>> | undefined;
  /** What goes beyond is refused; everything is taken when absent. */
  readonly limits?: CopyLimits | undefined;
  readonly signal: AbortSignal;
}

/** What a copy out left behind, because it was not safe to write on the host or more than was asked for. */
export interface CopyReport {
  readonly files: number;
  readonly bytes: number;
  readonly refused: readonly { readonly path: string; readonly reason: string }[];
  /** True when it ended before it had seen everything, because of its limits; the last refusal says where. */
  readonly isCut?: boolean | undefined;
}

/** Something that a snapshot would hold beside the image. */
export interface SnapshotFile {
  /** As the environment sees it. */
  readonly path: string;
  /** A file's bytes, or a link's target; empty for all else. */
  readonly body: AsyncIterable<Uint8Array> | Iterable<Uint8Array>;
}

export interface SnapshotRequest {
  /** Letters and digits, at most 64. */
  readonly key: string;
  /** Sees all that the snapshot would hold beside the image; where it says no, nothing is kept. */
  readonly examine: (file: SnapshotFile) => Promise<boolean>;
  readonly signal: AbortSignal;
}

export interface ListChangesRequest {
  /** Absolute. Only changes below it are listed. */
  readonly directory: string;
  /** Absolute paths that are left out, with everything below them. */
  readonly exclude: readonly string[];
  readonly signal: AbortSignal;
}

/** One path that differs from the image or snapshot of the environment. */
export interface FileChange {
  /** Relative to the directory of the request. */
  readonly path: string;
  readonly kind: "added" | "changed" | "removed";
  /** What is there now, or was there if the path was removed. Null if the provider does not know. */
  readonly type: "file" | "directory" | "link" | "other" | null;
  /** Bytes of a file as it is now. */
  readonly size?: number | undefined;
  readonly linkTarget?: string | undefined;
  /** Permission bits before and now, if they differ. */
  readonly modes?: readonly [number, number] | undefined;
}

/** Resolves with null if there is no regular file, it is larger than `maxBytes`, or it is unreadable. */
export type ContentReader = (path: string, maxBytes: number, signal: AbortSignal) => Promise<Uint8Array | null>;

/** The paths below a directory that differ from the image or snapshot of the environment. */
export interface ChangeReport {
  /** In any order. A removed directory is listed without its files. */
  readonly changes: readonly FileChange[];
  /** True when there may be more changes: the listing reached its limit or met a directory it may not read. */
  readonly isCut: boolean;
  /** Reads a listed file as it is now. */
  readonly readAfter: ContentReader;
  /** Reads a listed file of the image or snapshot. Absent where the original is not within reach. */
  readonly readBefore?: ContentReader | undefined;
}

export interface ProcessInfo {
  readonly pid: number;
  readonly command: string;
}

export type FactValue = string | number | boolean | null | readonly FactValue[] | { readonly [key: string]: FactValue };

/** A started container or sandbox. Its owner destroys it; every call may reject with a `RolloutError`. */
export interface Environment {
  readonly id: string;
  readonly workdir: string;
  /** What the trial's result records of it: provider, base, isolation, limits, deviations. */
  readonly facts: { readonly [key: string]: FactValue };
  /**
   * Runs a command with stdin closed and resolves when it has ended and its output has been delivered.
   * When the signal is aborted, everything the command started is killed first, daemons included; then it rejects
   * with the signal's reason. Rejects with `environment_lost` (transient) when the environment is gone, and
   * with `task_unfit` or `environment_start_failed` when the first command shows that it never was of use.
   */
  exec(request: ExecRequest): Promise<ExecResult>;
  copyTo(items: readonly Placement[], signal: AbortSignal): Promise<void>;
  /** Copies a file or directory out. Links that leave the tree, device files and the like are refused, the rest is copied. Rejects with `not_found` when the source is missing. */
  copyFrom(request: CopyFromRequest): Promise<CopyReport>;
  /** Everything that runs beside the environment's own main process. */
  listProcesses(signal: AbortSignal): Promise<readonly ProcessInfo[]>;
  /** Ends everything that runs beside the main process: TERM, then KILL. */
  killProcesses(signal: AbortSignal): Promise<void>;
  /** Holds every process still for good; only with the capability `freeze`. */
  freeze(signal: AbortSignal): Promise<void>;
  /**
   * Paths of the shells, the loader and the C library that are not as they were at the start, seen from outside; absent
   * where that cannot be told.
   */
  changedTools?(signal: AbortSignal): Promise<readonly string[]>;
  /**
   * Lists what differs below a directory from the image or snapshot that the environment was started from. Links are
   * never followed. Only with the capability `changes`. Resolves with null if the provider cannot tell cheaply.
   */
  listChanges?(request: ListChangesRequest): Promise<ChangeReport | null>;
  /** What can still be written in it; null, or absent, where no limit of its own bounds that, or nobody can tell. */
  freeBytes?(signal: AbortSignal): Promise<number | null>;
  /** Only asked for policies that the capability `network` names. What runs already is bound by it too. */
  setNetwork(policy: NetworkPolicy, signal: AbortSignal): Promise<void>;
  /** What was asked for since the last call and a list of allowed hosts refused, as `host:port`, each once; absent where that cannot be told. */
  takeRefused?(): readonly string[];
  /**
   * Saves its files under a key, without what `/logs`, `/tests` and `/oracle` hold, and resolves with the reference for
   * `createEnvironment`, or with null when `examine` said no. What another process saved under the key meanwhile is as
   * good. The environment goes on. Only with the capability `snapshots`, and while nothing runs beside the main process.
   * Rejects with `unsupported` when the snapshot would lack something that the environment holds.
   */
  snapshot?(request: SnapshotRequest): Promise<string | null>;
  /** Stops it and keeps its files; only with the capability `stop`. */
  stop(signal: AbortSignal): Promise<void>;
  /** Removes it and all it holds; doing it twice is fine. */
  destroy(signal: AbortSignal): Promise<void>;
  /** US dollars so far; null when unknown. */
  cost(): number | null;
  /** A command of the engine's own that a person types to enter it once it is kept; null when there is none. */
  enterCommand(): string | null;
}

export interface FoundEnvironment {
  readonly id: string;
  /** It was stopped to be kept, so nobody but a person may remove it. */
  readonly isKept: boolean;
  readonly labels: Readonly<Record<string, string>>;
}

export interface FoundSnapshot {
  readonly key: string;
  /** An environment that is there was started from it. */
  readonly isUsed: boolean;
}

/** The snapshots that a provider keeps, for every process that has access to its engine. */
export interface SnapshotStore {
  /** Names what environments of an image start from, by content, and the settings that shape it: it changes when a snapshot would not fit any more. */
  identify(image: string, signal: AbortSignal): Promise<string>;
  /** The reference for `createEnvironment`; null when there is no snapshot of that key. */
  find(key: string, signal: AbortSignal): Promise<string | null>;
  list(signal: AbortSignal): Promise<readonly FoundSnapshot[]>;
  /** Removes one; one that is already gone is fine. Rejects with `in_use` while an environment stands on it. */
  remove(key: string, signal: AbortSignal): Promise<void>;
}

export interface EnterRequest {
  readonly id: string;
  /** Whether the caller gives the shell a terminal, or plain pipes. */
  readonly isTerminal: boolean;
  readonly signal: AbortSignal;
}

/** A way into an environment that was kept; disposing it ends what runs inside and leaves the files. */
export interface Entrance extends AsyncDisposable {
  /** The program that is a shell inside, for a caller that hands its own streams on. */
  readonly command: readonly string[];
  /** The whole environment of that program. */
  readonly env: Readonly<Record<string, string>>;
}

/** How much the machine behind a provider has. */
export interface Capacity {
  readonly cpus: number;
  readonly memoryBytes: number;
}

/** A factory of environments, opened once per job and disposed at its end. */
export interface EnvironmentProvider extends AsyncDisposable {
  readonly name: string;
  readonly capabilities: Capabilities;
  /** US dollars that an hour of one environment costs; null or absent when that is not known ahead. */
  readonly pricePerHour?: number | null | undefined;
  /** How long a start may take by limits of its own, which then bound it and not those of the task. */
  readonly startLimitMs?: number | undefined;
  /** Present wherever the provider can have snapshots; the capability tells whether its settings let it make them. */
  readonly snapshots?: SnapshotStore | undefined;
  /**
   * Asks the engine behind it whether it can work; rejects with `provider_unavailable` and the remedy. Opening a
   * provider asks nothing. Settings that the engine cannot follow are `config_invalid` with a problem for each, whose
   * `path` is that inside `provider_config`. Resolves with what works less well here than it could, each with its remedy.
   */
  probe(signal: AbortSignal): Promise<readonly string[]>;
  /** Which engine stands behind it, its version and where it is, for people. Asked after `probe`. */
  describe?(signal: AbortSignal): Promise<string>;
  /** What all its environments share, so that a job that asks for more can be told; null when that is not known. Asked after `probe`. */
  capacity?(signal: AbortSignal): Promise<Capacity | null>;
  /** What a task gets here, or what is wrong with it; `io_failed` and `config_invalid` count as its problems too. */
  checkTask(task: TaskEnvironment, signal: AbortSignal): Promise<TaskCheck>;
  /** Returns the image reference for `createEnvironment`. Rejects with `image_build_failed`. */
  buildImage(request: BuildImageRequest): Promise<string>;
  /** Rejects with `image_pull_failed`. */
  pullImage(request: PullImageRequest): Promise<string>;
  /**
   * Rejects with `environment_start_failed` or `resource_allocation_failed`, with `image_pull_failed` where an image is
   * pulled only now, with `task_unfit` when the task's image or
   * limits are such that it never can start, and `config_invalid` when the settings are; what had been started is then gone.
   */
  createEnvironment(request: CreateEnvironmentRequest): Promise<Environment>;
  /** Every environment of this provider that carries all the given labels, whoever made it. */
  findEnvironments(labels: Readonly<Record<string, string>>, signal: AbortSignal): Promise<readonly FoundEnvironment[]>;
  /** Removes one that was found; one that is already gone is fine. */
  removeEnvironment(id: string, signal: AbortSignal): Promise<void>;
  /** Opens a way into one that was kept; only with the capability `stop`. Rejects with `not_found` when there is none, `already_exists` when it is in use. */
  enter(request: EnterRequest): Promise<Entrance>;
  /** The command a person types to remove one that was left behind; null when it dies with this process. */
  removeCommand(id: string): string | null;
}

export interface OpenProviderOptions {
  /** `provider_config` as the adapter's own schema returned it. */
  readonly config: unknown;
  /** Paths in the config are relative to this directory. */
  readonly baseDir: string;
  /** Applied by the adapter to every limit of its own. */
  readonly timeoutMultiplier: number;
  readonly host: Host;
  readonly clock: Clock;
  readonly redactor: Redactor;
  readonly log: Log;
  readonly signal: AbortSignal;
}

/** One problem a config schema found. */
export interface ConfigIssue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

/** Any schema that follows the Standard Schema convention (Zod, Valibot, ArkType). */
export interface ConfigSchema {
  readonly "~standard": {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => ConfigResult | Promise<ConfigResult>;
  };
}

export type ConfigResult =
  | { readonly value: unknown; readonly issues?: undefined }
  | { readonly issues: readonly ConfigIssue[] };

/** What an adapter is: a name, the shape of its `provider_config`, and a way to open it. */
export interface ProviderModule {
  readonly name: string;
  readonly configSchema: ConfigSchema;
  /** Cheap: no engine is asked for anything before `probe`. */
  open(options: OpenProviderOptions): Promise<EnvironmentProvider>;
}
