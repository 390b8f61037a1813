import { realpathSync, statSync } from "node:fs";
import { isAbsolute } from "node:path";
import { systemCodeOf } from "../../../base/rollout-error.ts";
import type { OverlayMount } from "../../archive/overlay-changes.ts";

/**
 * Finds the overlay that is the root of a container, from the `mountinfo` of one of its processes. Null if the root is
 * something else, or if its directories cannot be reached from here.
 */
export function findRootOverlay(mountInfo: string): OverlayMount | null {
  const options = rootOptions(mountInfo);
  if (options === null) return null;
  const upper = valuesOf(options, "upperdir")[0];
  // The newer form of the option appears once for each directory.
  const lowers = [...valuesOf(options, "lowerdir").flatMap(splitPaths), ...valuesOf(options, "lowerdir+")];
  const places = [upper, ...lowers].map((path) => (path === undefined ? null : findDirectory(path)));
  const [place, ...below] = places;
  if (place === null || place === undefined || below.length === 0) return null;
  const found = below.flatMap((path) => (path === null ? [] : [{ path, isPublicOnly: false }]));
  return found.length === below.length ? { target: "/", upper: place, lowers: found } : null;
}

/** Where something is mounted on top of the root. */
export function listMountPoints(mountInfo: string): string[] {
  const points = mountInfo.split("\n").flatMap((line) => line.split(" ")[4] ?? []);
  return points.map(unescapeOctal).filter((point) => point !== "/");
}

// The first line is the mount of the engine. Later ones may have been made inside the container.
function rootOptions(mountInfo: string): readonly string[] | null {
  const lines = mountInfo.split("\n").map((line) => line.split(" "));
  const fields = lines.find((line) => line[4] === "/") ?? [];
  const [type, , options] = fields.slice(fields.indexOf("-") + 1);
  return type === "overlay" && options !== undefined ? options.split(/(?<!\\),/) : null;
}

function valuesOf(options: readonly string[], key: string): string[] {
  return options
    .filter((option) => option.startsWith(`${key}=`))
    .map((option) => unescapeOctal(option.slice(key.length + 1)));
}

function splitPaths(value: string): string[] {
  return value.split(/(?<!\\):/).map((path) => path.replace(/\\(.)/g, "$1"));
}

// The kernel writes spaces and its like as octal numbers.
function unescapeOctal(text: string): string {
  return text.replace(/\\([0-7]{3})/g, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 8)));
}

// Docker names lower directories by short links. Relative paths start at a directory that only the engine knows.
function findDirectory(path: string): string | null {
  if (!isAbsolute(path)) return null;
  try {
    const real = realpathSync(path);
    return statSync(real).isDirectory() ? real : null;
  } catch (error) {
    if (systemCodeOf(error) === undefined) throw error;
    return null;
  }
}
