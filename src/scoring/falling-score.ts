/** 1 at or below `target`, 0 at or above `limit`, falling evenly between; without a target 1 up to the limit, then 0. */
export function fallingScore(value: number, target: number | undefined, limit: number): number {
  if (target === undefined) return value <= limit ? 1 : 0;
  if (value <= target) return 1;
  return value >= limit ? 0 : (limit - value) / (limit - target);
}
