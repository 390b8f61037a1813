// What test runners print for a check that failed: pytest, TAP, Go, cargo, unittest.
const patterns: readonly RegExp[] = [
  /^(?:FAILED|ERROR) \S+.*$/,
  /^not ok \d+.*$/,
  /^\s*--- FAIL: .*$/,
  /^test .* \.\.\. FAILED$/,
  /^(?:FAIL|ERROR): \w+ \(.*\)$/,
];

const maxChecks = 20;

/** Finds the names of failed checks in the output of a verifier, at most 20, each once. */
export function findFailedChecks(output: string): string[] {
  const found = new Set<string>();
  for (const line of output.split("\n")) {
    const text = line.trimEnd();
    if (patterns.some((pattern) => pattern.test(text))) found.add(text.trim());
    if (found.size === maxChecks) break;
  }
  return [...found];
}
