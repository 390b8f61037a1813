import { RolloutError } from "../../base/rollout-error.ts";

/** Reads a `.dockerignore`: whether a path of the context is left out. Throws `config_invalid` for what is no pattern. */
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

// `**` spans directories, `*` and `?` do not; classes and escapes are those of the engine's own matcher.
const tokens = /\*\*\/|\*\*|\*|\?|\\(?<escaped>.)|\[(?<not>\^?)(?<members>(?:\\.|[^\]\\])+)\]|[\\^$.|+(){}[\]]/gs;

function toExpression(pattern: string): RegExp {
  const source = pattern.replace(tokens, (token, ...rest: unknown[]) => {
    const { escaped, not, members } = rest.at(-1) as Record<string, string | undefined>;
    if (token === "**/") return "(?:.*/)?";
    if (token === "**") return ".*";
    if (token === "*") return "[^/]*";
    if (token === "?") return "[^/]";
    if (escaped !== undefined) return RegExp.escape(escaped);
    if (members !== undefined) return `(?!/)[${not}${members.replaceAll("[", "\\[")}]`;
    if (token === "[" || token === "\\") throw badPattern(pattern);
    return `\\${token}`;
  });
  try {
    return new RegExp(`^${source}$`, "s");
  } catch (error) {
    throw badPattern(pattern, error);
  }
}

function badPattern(pattern: string, cause?: unknown): RolloutError {
  return new RolloutError("config_invalid", `the ignore file holds ${JSON.stringify(pattern)}, which is no pattern`, {
    cause,
  });
}
