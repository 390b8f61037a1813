import { existsSync, readdirSync, rmdirSync, rmSync } from "node:fs";
import { join } from "node:path";

/** Takes out of a layer what every environment gets anew: the name servers of its own day, and parts that hold nothing. */
export function dropEmptyParts(layer: string): void {
  for (const file of ["etc/resolv.conf", "_/etc/resolv.conf"]) rmSync(join(layer, file), { force: true });
  for (const path of ["_/etc", ...readdirSync(layer)]) {
    const part = join(layer, path);
    if (existsSync(part) && readdirSync(part).length === 0) rmdirSync(part);
  }
}
