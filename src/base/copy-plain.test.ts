import fc from "fast-check";
import { expect, test } from "vitest";
import { copyPlain } from "./copy-plain.ts";

test("a copy is equal, and shares no list or plain object with what it was made of", () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const copy = copyPlain(value);
      expect(copy).toEqual(value);
      if (typeof value === "object" && value !== null) expect(copy).not.toBe(value);
    }),
  );
  const nested = { list: [{ n: 1 }] };
  copyPlain(nested).list[0] = { n: 2 };
  expect(nested.list[0]).toEqual({ n: 1 });
});

test("instances are handed on, and rings are rings again", () => {
  const date = new Date(0);
  const ring: Record<string, unknown> = { date };
  ring["self"] = ring;
  const copy = copyPlain(ring);
  expect(copy["date"]).toBe(date);
  expect(copy["self"]).toBe(copy);
});
