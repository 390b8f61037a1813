import { describe, expect, test } from "vitest";
import { createSecretFinder } from "./secret-finder.ts";

const value = "s3cret/value+with=signs";
const find = createSecretFinder([
  { name: "TOKEN", value },
  { name: "SHORT", value: "abc" },
]);

describe("a secret finder", () => {
  test.each([
    ["as it is", value],
    ["in base64", Buffer.from(`user:${value}`).toString("base64")],
    ["in a URL", encodeURIComponent(value)],
  ])("finds a value %s, with bytes around it that are no text", async (_how, text) => {
    expect(await find([Buffer.from([0, 255]), Buffer.from(text), Buffer.from([254])])).toBe("TOKEN");
  });

  test("finds a value that is cut anywhere", async () => {
    const bytes = Buffer.from(`xx${value}yy`);
    for (let cut = 0; cut <= bytes.length; cut++)
      expect(await find([bytes.subarray(0, cut), bytes.subarray(cut)])).toBe("TOKEN");
    expect(await find(Array.from(bytes, (byte) => Buffer.of(byte)))).toBe("TOKEN");
  });

  test("says nothing of other bytes, nor of values that are too short to tell", async () => {
    expect(await find([Buffer.from(value.slice(0, -1)), Buffer.from("! abc")])).toBeNull();
    expect(await createSecretFinder([])([Buffer.from(value)])).toBeNull();
  });
});
