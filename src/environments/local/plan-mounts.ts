import { deviceNames, partName, volumePaths, type BaseSystem } from "./base-system.ts";
import { toolboxMount } from "./toolbox.ts";

/** A published layer: its name and the overlays it has something for. */
export interface Layer {
  readonly key: string;
  readonly parts: readonly string[];
}

export interface MountRequest {
  readonly base: BaseSystem;
  /** Topmost first. */
  readonly layers: readonly Layer[];
  /** The toolbox on the host, relative to the environment's folder or absolute. */
  readonly toolbox: string;
  /** Makes every volume part of the file system that becomes a layer. */
  readonly isBuild: boolean;
}

/** One mount, in the order of mounting; paths are relative to the environment's folder. */
export interface Mount {
  readonly type: string;
  readonly source: string;
  readonly target: string;
  readonly options: readonly string[];
}

export interface MountPlan {
  readonly mounts: readonly Mount[];
  /** Directories of the private disk that must exist before, with their modes. */
  readonly directories: Readonly<Record<string, number>>;
  /** Volumes that are plain directories of the disk, by their path inside, with their place on the disk. */
  readonly volumes: ReadonlyMap<string, string>;
}

const bind = ["bind", "nosuid", "nodev"];
const quiet = ["nosuid", "nodev", "noexec"];

/** Plans the file system of an environment: overlays of base and layers, volumes, devices, proc. */
export function planMounts({ base, layers, toolbox, isBuild }: MountRequest): MountPlan {
  const directories: Record<string, number> = {};
  const mounts: Mount[] = [];
  const volumes = new Map<string, string>();
  const addOverlay = (path: string, bottom: readonly string[], mode: number): void => {
    const part = partName(path);
    const lowers = layers.filter((layer) => layer.parts.includes(part)).map(({ key }) => `../../layers/${key}/${part}`);
    directories[`upper/${part}`] = mode;
    directories[`work/${part}`] = 0o755;
    mounts.push({
      type: "overlay",
      source: "overlay",
      target: `./root/${path}`.replace(/\/$/, ""),
      options: [
        "volatile",
        "userxattr",
        `lowerdir=${[...lowers, ...bottom].join(":")}`,
        `upperdir=disk/upper/${part}`,
        `workdir=disk/work/${part}`,
      ],
    });
  };
  const baseDir = `../../bases/${base.key}`;
  addOverlay("", [`${baseDir}/${partName("")}`], 0o755);
  for (const { path, hostDirectory } of base.overlays) {
    addOverlay(path, [`${baseDir}/${partName(path)}`, ...(hostDirectory === null ? [] : [hostDirectory])], 0o755);
  }
  for (const path of volumePaths) {
    const mode = path === "tmp" ? 0o1777 : 0o755;
    const isLayered = isBuild || layers.some((layer) => layer.parts.includes(path));
    if (isLayered) {
      directories[`volumes/${path}`] = mode;
      addOverlay(path, [`disk/volumes/${path}`], mode);
    } else {
      directories[`volumes/${path}`] = mode;
      volumes.set(`/${path}`, `disk/volumes/${path}`);
      mounts.push({ type: "none", source: `./disk/volumes/${path}`, target: `./root/${path}`, options: bind });
    }
  }
  directories["volumes/shm"] = 0o1777;
  mounts.push({ type: "none", source: "./disk/volumes/shm", target: "./root/dev/shm", options: bind });
  mounts.push({ type: "none", source: toolbox, target: `./root${toolboxMount}`, options: ["bind", "ro", "nosuid"] });
  for (const name of deviceNames) {
    const options = ["bind", "nosuid", "noexec"];
    mounts.push({ type: "none", source: `/dev/${name}`, target: `./root/dev/${name}`, options });
  }
  mounts.push(
    {
      type: "devpts",
      source: "devpts",
      target: "./root/dev/pts",
      options: ["nosuid", "noexec", "newinstance", "ptmxmode=0666", "mode=0620"],
    },
    { type: "mqueue", source: "mqueue", target: "./root/dev/mqueue", options: quiet },
    { type: "proc", source: "proc", target: "./root/proc", options: quiet },
  );
  return { mounts, directories, volumes };
}

/** The mounts as a table that `mount -a` reads. */
export function renderMountTable(mounts: readonly Mount[]): string {
  const escape = (text: string): string =>
    text.replace(/[\\\s#]/g, (character) => `\\${character.charCodeAt(0).toString(8).padStart(3, "0")}`);
  return mounts
    .map(
      ({ type, source, target, options }) =>
        `${escape(source)} ${escape(target)} ${type} ${options.map(escape).join(",")} 0 0\n`,
    )
    .join("");
}
