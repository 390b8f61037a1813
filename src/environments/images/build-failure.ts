import { basename, dirname, join } from "node:path";

// Each builder has its own words for an image that it could not have; the first group that is there is the image.
const missing: readonly RegExp[] = [
  /#(?<step>\d+) \[internal\] load metadata for (?<image>\S+)\n(?:.*\n)*?#\k<step> ERROR/,
  /failed to resolve source metadata for (?<image>\S+?):? /,
  /initializing source docker:\/\/(?<image>\S+?): /,
  /(?:pull access denied for|manifest for) (?<image>[^\s,]+)/,
];

// Where in the builder something went wrong says nothing about what.
const inside =
  /^(?:error|failed to solve(?: with frontend [\w.]+)?|failed to create LLB definition|failed to build LLB|creating build container): /;

/** What a person reads first about a build that failed: the base image, when it could not be had, else the builder's own words. */
export function describeBuildFailure(contextDir: string, failure: string, output: string): string {
  let words = failure.trim();
  while (inside.test(words)) words = words.replace(inside, "");
  const base = missing.flatMap((pattern) => pattern.exec(`${failure}\n${output}`)?.groups?.["image"] ?? [])[0];
  if (base !== undefined)
    return `the base image ${base.replace(/^docker\.io\/(library\/)?/, "")} cannot be had: ${words}`;
  return `building ${join(basename(dirname(contextDir)), basename(contextDir))} failed: ${words}`;
}

/** True when a builder's words tell of a registry or an engine that cannot be reached, which is nobody's Dockerfile. */
export function isOutOfReach(words: string): boolean {
  return (
    isEngineAway(words) ||
    /dial tcp|i\/o timeout|TLS handshake timeout|no such host|connection (refused|reset)|too many requests|unexpected status.*: 5\d\d|server misbehaving/i.test(
      words,
    )
  );
}

/** True when a builder's words tell that the engine which would do the work is not there. */
export function isEngineAway(words: string): boolean {
  return /cannot connect to (the docker daemon|podman)/i.test(words);
}
