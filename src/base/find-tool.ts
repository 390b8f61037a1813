import { accessSync, constants, existsSync } from "node:fs";
import { delimiter, join } from "node:path";

/** The path of a tool of the host; null when it is not installed. */
export function findTool(name: string, path: string): string | null {
  for (const directory of path.split(delimiter)) {
    const file = join(directory, name);
    if (existsSync(file) && isExecutable(file)) return file;
  }
  return null;
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
