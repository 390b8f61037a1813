import { expect, test } from "vitest";
import { z } from "zod";
import { priceKeys, priceOf } from "./price-keys.ts";

const schema = z.strictObject(priceKeys);

test("an hour costs what price says, else what price_per_hour says, else nothing", () => {
  expect(priceOf(schema.parse({ price: 2 }))).toBe(2);
  expect(priceOf(schema.parse({ price_per_hour: 3 }))).toBe(3);
  expect(priceOf(schema.parse({ price: 0, price_per_hour: 3 }))).toBe(0);
  expect(priceOf(schema.parse({}))).toBe(0);
  expect(schema.safeParse({ price: -1 }).success).toBe(false);
});
