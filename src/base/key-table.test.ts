import * as fc from "fast-check";
import { expect, test } from "vitest";
import { KeyTable } from "./key-table.ts";

test("a table knows what a map knows", () => {
  const puts = fc.array(fc.tuple(fc.string({ maxLength: 3 }), fc.nat({ max: 2 ** 52 })), { maxLength: 5000 });
  fc.assert(
    fc.property(puts, (entries) => {
      const table = new KeyTable({ hasValues: true });
      const map = new Map<string, number>();
      for (const [key, value] of entries) {
        expect(table.put(key, value)).toBe(!map.has(key));
        map.set(key, value);
      }
      expect(table.count).toBe(map.size);
      for (const [key, value] of map) expect(table.get(key)).toBe(value);
      expect(table.get("never there")).toBeNull();
    }),
    { numRuns: 30 },
  );
});

test("ids that look alike are told apart, however many there are", () => {
  const table = new KeyTable({ hasValues: false });
  let again = 0;
  for (let n = 0; n < 300_000; n++) for (const key of [`e${n}`, `e${n}#1`]) if (!table.put(key)) again++;
  expect(again).toBe(0);
  expect(table.count).toBe(600_000);
  expect(table.get("e299999#1")).toBe(0);
  expect(table.get("e300000#1")).toBeNull();
});
