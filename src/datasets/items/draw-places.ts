import { seededRandom } from "../../base/seeded-random.ts";

/** So many different places below `total`, in order, drawn by chance but always the same for one seed. */
export function drawPlaces(total: number, count: number, seed: number): number[] {
  if (count >= total) return Array.from({ length: total }, (_, place) => place);
  // Seeds of more than 32 bits count whole.
  const random = seededRandom((seed ^ Math.floor(seed / 2 ** 32)) >>> 0);
  const drawn = new Set<number>();
  // Floyd's way: one draw for each place, none of them in vain.
  for (let top = total - count; top < total; top++) {
    const place = Math.floor(random() * (top + 1));
    drawn.add(drawn.has(place) ? top : place);
  }
  return [...drawn].sort((a, b) => a - b);
}
