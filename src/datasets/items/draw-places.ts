/** So many different places below `total`, in order, drawn by chance but always the same for one seed. */
export function drawPlaces(total: number, count: number, seed: number): number[] {
  if (count >= total) return Array.from({ length: total }, (_, place) => place);
  const random = createRandom(seed);
  const drawn = new Set<number>();
  // Floyd's way: one draw for each place, none of them in vain.
  for (let top = total - count; top < total; top++) {
    const place = Math.floor(random() * (top + 1));
    drawn.add(drawn.has(place) ? top : place);
  }
  return [...drawn].sort((a, b) => a - b);
}

/** Mulberry32: small, quick, and the same on every machine. */
function createRandom(seed: number): () => number {
  let state = (seed ^ Math.floor(seed / 2 ** 32)) >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
