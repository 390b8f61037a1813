/** A path as a person in `cwd` would type it: relative where it lies below. */
export function shownPath(path: string, cwd: string): string {
  return path.startsWith(`${cwd}/`) ? path.slice(cwd.length + 1) : path;
}

/** A word that a shell takes as it is. */
export function shellWord(text: string): string {
  return /^[\w./@+:=,-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
