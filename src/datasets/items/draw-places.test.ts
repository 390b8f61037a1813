import fc from "fast-check";
import { expect, test } from "vitest";
import { drawPlaces } from "./draw-places.ts";

test("as many places as asked for, all different, in order, and the same for one seed", () => {
  fc.assert(
    fc.property(fc.nat(500), fc.nat(500), fc.nat(), (total, count, seed) => {
      const places = drawPlaces(total, count, seed);
      expect(places).toHaveLength(Math.min(total, count));
      expect(new Set(places).size).toBe(places.length);
      expect(places).toEqual(places.toSorted((a, b) => a - b));
      expect(places.every((place) => place >= 0 && place < total)).toBe(true);
      expect(drawPlaces(total, count, seed)).toEqual(places);
    }),
  );
});

test("every place has about the same chance", () => {
  const hits = Array.from({ length: 10 }, () => 0);
  for (let seed = 0; seed < 5000; seed++)
    for (const place of drawPlaces(10, 3, seed)) hits[place] = (hits[place] ?? 0) + 1;
  for (const hit of hits) expect(hit).toBeGreaterThan(1300);
  for (const hit of hits) expect(hit).toBeLessThan(1700);
});
