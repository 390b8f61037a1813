import fc from "fast-check";
import { expect, test } from "vitest";
import { toRaw } from "./raw-json.ts";

test("a value is printed as a printer prints it", () => {
  fc.assert(
    fc.property(fc.oneof(fc.jsonValue(), fc.string({ unit: "binary" }), fc.string()), (value) => {
      expect(toRaw(value)).toBe(JSON.stringify(value));
    }),
  );
  expect(toRaw(undefined)).toBe("null");
});
