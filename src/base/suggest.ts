/** The known word nearest to a mistyped one, or undefined when none is near enough to be meant. */
export function suggest(word: string, known: readonly string[]): string | undefined {
  let best: string | undefined;
  let bestDistance = Math.max(1, Math.floor(word.length / 3)) + 1;
  for (const candidate of known) {
    const distance = editDistance(word.toLowerCase(), candidate.toLowerCase());
    // A word of which no letter is left was not meant.
    if (distance < bestDistance && distance < Math.max(word.length, candidate.length, 1)) {
      best = candidate;
      bestDistance = distance;
    }
  }
  return best;
}

/** `unknown key; did you mean "execute"?` or the list of what is known when nothing is near. */
export function describeUnknown(kind: string, word: string, known: readonly string[]): string {
  const near = suggest(word, known);
  if (near !== undefined) return `unknown ${kind}; did you mean "${near}"?`;
  return known.length === 0 ? `unknown ${kind}` : `unknown ${kind}; known: ${known.join(", ")}`;
}

// Optimal string alignment: a swap of two neighbours, the commonest slip, costs one.
function editDistance(a: string, b: string): number {
  let beforePrevious: number[] = [];
  let previous = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const current = [i];
    for (let j = 1; j <= b.length; j++) {
      const cost = a[i - 1] === b[j - 1] ? 0 : 1;
      let distance = Math.min((previous[j] ?? 0) + 1, (current[j - 1] ?? 0) + 1, (previous[j - 1] ?? 0) + cost);
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) {
        distance = Math.min(distance, (beforePrevious[j - 2] ?? 0) + 1);
      }
      current.push(distance);
    }
    beforePrevious = previous;
    previous = current;
  }
  return previous[b.length] ?? 0;
}
