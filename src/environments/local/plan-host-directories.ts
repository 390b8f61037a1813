import type { BaseOverlay } from "./base-system.ts";

/** Directories of the host that an environment may see; nothing else of it exists inside. */
const shown = ["bin", "sbin", "lib", "lib32", "lib64", "libx32", "usr", "opt"];

/** Directories that tools change in place: the base holds a copy of them. */
const copied = [
  "etc",
  "var/lib/dpkg",
  "var/lib/apt",
  "var/cache/debconf",
  "var/lib/ucf",
  "var/lib/rpm",
  "var/lib/dnf",
  "var/lib/pacman",
  "var/lib/alternatives",
];

const deepestSplit = 4;

/** How the plan looks at the host. */
export interface HostView {
  /** Every mount point of the host. */
  readonly mountPoints: readonly string[];
  kindOf(path: string): "directory" | "link" | "other" | "missing";
  linkTarget(path: string): string;
  list(path: string): readonly string[];
}

/** What of the host becomes part of a base. */
export interface HostPlan {
  readonly overlays: readonly BaseOverlay[];
  /** Links such as /bin -> usr/bin, by their path. */
  readonly links: Readonly<Record<string, string>>;
  /** Directories that are made empty, because there are mounts below them. */
  readonly directories: readonly string[];
}

/** Splits the host's directories so that no overlay has a mount below it: the kernel refuses those in a user namespace. */
export function planHostDirectories(view: HostView): HostPlan {
  const overlays: BaseOverlay[] = [];
  const links: Record<string, string> = {};
  const directories: string[] = [];
  const visit = (path: string, depth: number): void => {
    const hostPath = `/${path}`;
    const kind = view.kindOf(hostPath);
    if (kind === "link") links[path] = view.linkTarget(hostPath);
    if (kind !== "directory" || /[:,\\\s]/.test(path)) return;
    if (!view.mountPoints.some((mount) => mount.startsWith(`${hostPath}/`))) {
      overlays.push({ path, hostDirectory: hostPath });
      return;
    }
    directories.push(path);
    if (depth >= deepestSplit) return;
    for (const name of view.list(hostPath)) {
      if (!view.mountPoints.includes(`${hostPath}/${name}`)) visit(`${path}/${name}`, depth + 1);
    }
  };
  for (const path of shown) visit(path, 0);
  for (const path of copied) {
    if (view.kindOf(`/${path}`) === "directory") overlays.push({ path, hostDirectory: null });
  }
  return { overlays, links, directories };
}

/** The mount points in the text of `/proc/self/mountinfo`. */
export function readMountPoints(mountinfo: string): string[] {
  return mountinfo
    .split("\n")
    .flatMap((line) => line.split(" ")[4] ?? [])
    .map((path) => path.replace(/\\(\d{3})/g, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 8))));
}
