const mostLines = 400;
const context = 1;

/** What turns one text into another, line by line: `- gone`, `+ new`, and a line of either side around them. */
export function diffLines(before: string, after: string): string[] {
  const a = before.replace(/\n$/, "").split("\n");
  const b = after.replace(/\n$/, "").split("\n");
  if (a.length > mostLines || b.length > mostLines) return [`- ${a.length} lines`, `+ ${b.length} lines`];
  const steps = align(a, b);
  const isNear = (at: number): boolean =>
    steps.slice(Math.max(0, at - context), at + context + 1).some((step) => !step.startsWith(" "));
  return steps.filter((_step, at) => isNear(at));
}

// The longest common subsequence of the lines, read back from its table.
function align(a: readonly string[], b: readonly string[]): string[] {
  const lengths = Array.from({ length: a.length + 1 }, () => new Uint32Array(b.length + 1));
  const at = (i: number, j: number): number => lengths[i]?.[j] ?? 0;
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      const row = lengths[i];
      if (row) row[j] = a[i] === b[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
    }
  }
  const steps: string[] = [];
  for (let i = 0, j = 0; i < a.length || j < b.length;) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      steps.push(`  ${a[i++]}`);
      j++;
    } else if (i < a.length && (j >= b.length || at(i + 1, j) >= at(i, j + 1))) steps.push(`- ${a[i++]}`);
    else steps.push(`+ ${b[j++]}`);
  }
  return steps;
}
