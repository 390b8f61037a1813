/**
 * Maps items in order with at most `limit` calls at a time. After a rejection no new call is made, those that run are
 * waited for, and the first rejection is thrown.
 */
export async function mapBounded<T, R>(
  items: readonly T[],
  limit: number,
  call: (item: T, index: number) => Promise<R>,
): Promise<R[]> {
  const results: R[] = [];
  const failures: unknown[] = [];
  const left = items.entries();
  const work = async (): Promise<void> => {
    for (const [index, item] of left) {
      if (failures.length > 0) return;
      try {
        results[index] = await call(item, index);
      } catch (error) {
        failures.push(error);
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(limit, items.length) }, work));
  if (failures.length > 0) throw failures[0];
  return results;
}
