/** Reads a `.dockerignore`: whether a path of the context is left out. */
export function parseDockerIgnore(text: string): (path: string) => boolean {
  const rules = text.split(/\r?\n/).flatMap((line) => {
    const trimmed = line.trim();
    if (trimmed === "" || trimmed.startsWith("#")) return [];
    const isException = trimmed.startsWith("!");
    const pattern = (isException ? trimmed.slice(1) : trimmed)
      .trim()
      .replace(/^(\.?\/)+/, "")
      .replace(/\/+$/, "");
    return pattern === "" || pattern === "." ? [] : [{ isException, matches: toExpression(pattern) }];
  });
  return (path) => {
    const parts = path.split("/");
    // A rule for a directory is one for all that it holds.
    const candidates = parts.map((_, index) => parts.slice(0, index + 1).join("/"));
    let isIgnored = false;
    for (const { isException, matches } of rules) {
      if (candidates.some((candidate) => matches.test(candidate))) isIgnored = !isException;
    }
    return isIgnored;
  };
}

function toExpression(pattern: string): RegExp {
  const source = pattern.replace(/\*\*\/|\*\*|\*|\?|[\\^$.|+(){}]/g, (token) => {
    if (token === "**/") return "(?:.*/)?";
    if (token === "**") return ".*";
    if (token === "*") return "[^/]*";
    return token === "?" ? "[^/]" : `\\${token}`;
  });
  return new RegExp(`^${source}$`, "s");
}
