// Longer ones cannot be created on any host we run on, and would only cost us work.
const longestPath = 4096;

/** Either the components of a path or the reason why it is refused. */
export type CheckedPath =
  | { readonly parts: readonly string[]; readonly refusal?: undefined }
  | { readonly parts?: undefined; readonly refusal: string };

/** The components of a relative path that stays inside its tree, or the reason why it does not. */
export function checkTreePath(path: string): CheckedPath {
  if (path.includes("\0")) return { refusal: "its name holds a NUL character" };
  if (path.startsWith("/")) return { refusal: "its path is absolute" };
  if (path.length > longestPath) return { refusal: "its path is too long" };
  const parts = path.split("/").filter((part) => part !== "" && part !== ".");
  if (parts.includes("..")) return { refusal: "its path leaves the tree" };
  return { parts };
}

/**
 * Why a link in a directory `depth` levels below the root may lead out of its tree; null when it never can.
 * A `..` behind a name is refused as well: the name may be a link, and then it climbs from where that one leads.
 */
export function checkLinkTarget(target: string, depth: number): string | null {
  if (target === "" || target.includes("\0")) return "its target is not a path";
  if (target.startsWith("/")) return "it links to an absolute path";
  const parts = target.split("/").filter((part) => part !== "" && part !== ".");
  const firstName = parts.findIndex((part) => part !== "..");
  const climbs = firstName === -1 ? parts.length : firstName;
  if (climbs > depth) return "it links out of the tree";
  return parts.includes("..", climbs) ? "it may link out of the tree by way of another link" : null;
}
