import fc from "fast-check";
import { expect, test } from "vitest";
import { bestAlignment } from "./best-alignment.ts";
import { bestAssignment } from "./best-assignment.ts";

const matrix = fc.tuple(fc.integer({ min: 0, max: 5 }), fc.integer({ min: 1, max: 5 })).chain(([rows, columns]) => {
  const value = fc.integer({ min: 0, max: 4 }).map((quarters) => quarters / 4);
  return fc.array(fc.array(value, { minLength: columns, maxLength: columns }), { minLength: rows, maxLength: rows });
});

const worth = (values: readonly (readonly number[])[], given: readonly (number | null)[]): number =>
  given.reduce<number>((sum, column, row) => sum + (column === null ? 0 : values[row]![column]!), 0);

test("no other assignment is worth more, and no column is given twice", () => {
  fc.assert(
    fc.property(matrix, (values) => {
      const given = bestAssignment(values);
      const columns = given.filter((column) => column !== null);
      expect(new Set(columns).size).toBe(columns.length);
      expect(given).toHaveLength(values.length);
      expect(worth(values, given)).toBe(mostOf(values, 0, new Set(), false));
    }),
  );
});

test("no other alignment is worth more, and columns only grow", () => {
  fc.assert(
    fc.property(matrix, (values) => {
      const given = bestAlignment(values);
      const columns = given.filter((column) => column !== null);
      expect(columns).toEqual([...new Set(columns)].sort((a, b) => a - b));
      expect(worth(values, given)).toBe(mostOf(values, 0, new Set(), true));
    }),
  );
});

function mostOf(values: readonly (readonly number[])[], row: number, used: Set<number>, isOrdered: boolean): number {
  if (row >= values.length) return 0;
  let most = mostOf(values, row + 1, used, isOrdered);
  for (let column = 0; column < values[row]!.length; column++) {
    if (used.has(column) || (isOrdered && [...used].some((other) => other > column))) continue;
    used.add(column);
    most = Math.max(most, values[row]![column]! + mostOf(values, row + 1, used, isOrdered));
    used.delete(column);
  }
  return most;
}
