/** The volumes of an environment: directories that no image brings, held apart so that they can be reached from the host. */
export const volumePaths = ["logs", "tests", "oracle", "tmp", "run"] as const;

/** A directory of a base that is an overlay of its own, because the kernel takes none with mounts below it. */
export interface BaseOverlay {
  /** Relative to the root. */
  readonly path: string;
  /** The host's directory at the bottom; null when the base holds a copy of it. */
  readonly hostDirectory: string | null;
}

/** What every environment stands on, ready in a folder of the cache. */
export interface BaseSystem {
  readonly kind: "host" | "rootfs";
  /** For people: what it is. */
  readonly description: string;
  /** The folder's name; changes with what the base holds. */
  readonly key: string;
  readonly overlays: readonly BaseOverlay[];
}

/** The name under which a layer keeps its part of one overlay; the root's own is `_`. */
export function partName(path: string): string {
  return path === "" ? "_" : path.replaceAll("/", "!");
}

/** The path that a layer's part stands for, relative to the root. */
export function partPath(part: string): string {
  return part === "_" ? "" : part.replaceAll("!", "/");
}

const directories: Readonly<Record<string, number>> = {
  app: 0o755,
  root: 0o700,
  home: 0o755,
  srv: 0o755,
  mnt: 0o755,
  media: 0o755,
  var: 0o755,
  "var/tmp": 0o1777,
  "var/log": 0o755,
  "var/lib": 0o755,
  "var/cache": 0o755,
  "var/spool": 0o755,
  "var/mail": 0o755,
};

const mountPoints: Readonly<Record<string, number>> = {
  logs: 0o755,
  tests: 0o755,
  oracle: 0o755,
  tmp: 0o1777,
  run: 0o755,
  proc: 0o555,
  sys: 0o555,
  dev: 0o755,
  "dev/pts": 0o755,
  "dev/shm": 0o1777,
  "dev/mqueue": 0o755,
  ".rollout": 0o755,
};

/** The device files that an environment sees. */
export const deviceNames = ["null", "zero", "full", "random", "urandom", "tty"] as const;

const deviceLinks: Readonly<Record<string, string>> = {
  "dev/ptmx": "pts/ptmx",
  "dev/fd": "/proc/self/fd",
  "dev/stdin": "/proc/self/fd/0",
  "dev/stdout": "/proc/self/fd/1",
  "dev/stderr": "/proc/self/fd/2",
};

/** What must exist in a root so that an environment can be mounted on it. */
export interface Skeleton {
  /** Directories with their modes, parents first. */
  readonly directories: Readonly<Record<string, number>>;
  /** Empty files to bind devices to. */
  readonly files: readonly string[];
  readonly links: Readonly<Record<string, string>>;
}

/** The skeleton of a root: mount points alone for a root file system, all common directories for the host as a base. */
export function planSkeleton(kind: BaseSystem["kind"]): Skeleton {
  return {
    directories: kind === "host" ? { ...directories, ...mountPoints } : { app: 0o755, ...mountPoints },
    files: deviceNames.map((name) => `dev/${name}`),
    links: kind === "host" ? { ...deviceLinks, "var/run": "/run", "var/lock": "/run/lock" } : deviceLinks,
  };
}
