import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createRedactor, noSecrets, redactJson, type Redactor, type Secret } from "./redactor.ts";

const key: Secret = { name: "KEY", value: "s3cr3t/+value?&" };

function streamed(redactor: Redactor, chunks: readonly Uint8Array[]): string {
  const stream = redactor.stream();
  const out = chunks.map((chunk) => stream.push(chunk));
  return Buffer.concat([...out, stream.end()]).toString("utf8");
}

/** The same bytes in pieces that end at the given places. */
function cutAt(bytes: Uint8Array, places: readonly number[]): Uint8Array[] {
  const ends = [...places.map((place) => place % (bytes.length + 1)), bytes.length].sort((a, b) => a - b);
  return ends.map((end, index) => bytes.subarray(ends[index - 1] ?? 0, end));
}

describe("a secret is taken out", () => {
  const textOf =
    (name: string, value: string) =>
    (text: string): string =>
      createRedactor([{ name, value }]).text(text);
  const text = textOf(key.name, key.value);

  test("in plain form", () => {
    expect(text(`token=${key.value}; rest`)).toBe("token=[redacted:KEY]; rest");
  });

  test("each time it appears", () => {
    expect(text(`${key.value}${key.value} ${key.value}`)).toBe("[redacted:KEY][redacted:KEY] [redacted:KEY]");
  });

  test("in URL-encoded form, as other libraries write it", () => {
    const redactor = createRedactor([{ name: "KEY", value: "p@ss/wo rd!(1)" }]);
    const text = (value: string): string => redactor.text(value);
    expect(text("a=p%40ss/wo%20rd%21%281%29&")).toBe("a=[redacted:KEY]&");
    expect(text("a=p%40ss%2Fwo%20rd%21%281%29&")).toBe("a=[redacted:KEY]&");
    expect(text("a=p%40ss%2fwo%20rd!(1)&")).toBe("a=[redacted:KEY]&");
  });

  test("in URL-encoded form, of a path and of a form", () => {
    const text = textOf("KEY", "p@ss word!(1)");
    expect(text(`https://h/?k=${encodeURIComponent("p@ss word!(1)")}`)).toBe("https://h/?k=[redacted:KEY]");
    expect(text(new URLSearchParams({ k: "p@ss word!(1)", z: "1" }).toString())).toBe("k=[redacted:KEY]&z=1");
  });

  test("in JSON-escaped form, also when the writer kept to ASCII", () => {
    const text = textOf("PEM", '-----BEGIN\n"kéy"\\\t-----END');
    expect(text(JSON.stringify({ pem: '-----BEGIN\n"kéy"\\\t-----END' }))).toBe('{"pem":"[redacted:PEM]"}');
    expect(text('{"pem":"-----BEGIN\\n\\"k\\u00e9y\\"\\\\\\t-----END"}')).toBe('{"pem":"[redacted:PEM]"}');
  });

  test("in the digits of its bytes, lower case and upper", () => {
    const digits = Buffer.from(key.value).toString("hex");
    expect(text(`key ${digits}!`)).toBe("key [redacted:KEY]!");
    expect(text(`00${digits.toUpperCase()}ff`)).toBe("00[redacted:KEY]ff");
    expect(text(`${digits.slice(0, -1)}-`)).toBe(`${digits.slice(0, -1)}-`);
  });

  test("in the escapes of Python's repr and ascii, of a text and of its bytes, and of JSON with escaped slashes", () => {
    const value = "p'a\"s\\s\té🔑\u001bend/x";
    const text = textOf("P", value);
    for (const shown of [
      String.raw`'p\'a"s\\s\té🔑\x1bend/x'`,
      String.raw`'p\'a"s\\s\t\xe9\U0001f511\x1bend/x'`,
      String.raw`'p\'a"s\\s\t\xc3\xa9\xf0\x9f\x94\x91\x1bend/x'`,
    ])
      expect(text(shown), shown).toBe("'[redacted:P]'");
    const shown = String.raw`"p'a\"s\\s\té🔑\u001bend\/x"`;
    expect(text(shown)).toBe('"[redacted:P]"');
    expect(textOf("Q", "it's a path/\n")(String.raw`"it's a path/\n"`)).toBe('"[redacted:Q]"');
  });

  test.each([0, 1, 2, 3, 4, 5])("in base64 behind %d other bytes", (before) => {
    const encoded = Buffer.from(`${"x".repeat(before)}${key.value}${"y".repeat(before % 4)}`).toString("base64");
    const clean = text(encoded);
    expect(clean).toContain("[redacted:KEY]");
    // At most the characters that the secret shares with its neighbours are left of it.
    const left = clean.replace("[redacted:KEY]", "").replace(/=+$/, "");
    expect(left.length).toBeLessThanOrEqual(Math.ceil((before * 4) / 3) + Math.ceil(((before % 4) * 4) / 3) + 4);
  });

  test("in base64url form", () => {
    const value = "\u00fb\u00ff>>>???\u00fb\u00ff";
    const encoded = Buffer.from(value).toString("base64url");
    expect(encoded).toMatch(/[-_]/);
    const clean = createRedactor([{ name: "U", value }]).text(`jwt.${encoded}.sig`);
    expect(clean).toMatch(/^jwt\.\[redacted:U\].?\.sig$/);
  });

  test("when it is not ASCII", () => {
    const text = textOf("P", "pässwörd🔑");
    expect(text("é pässwörd🔑 ü")).toBe("é [redacted:P] ü");
  });

  test("when it looks like a regular expression", () => {
    const text = textOf("R", "a.*b+(c)|[d]^$\\");
    expect(text("x a.*b+(c)|[d]^$\\ y aXXb")).toBe("x [redacted:R] y aXXb");
  });

  test("when it is not well-formed Unicode", () => {
    const text = textOf("L", "half\ud83dpair-value");
    expect(text("half\ufffdpair-value")).toBe("[redacted:L]");
  });
});

describe("which value is named", () => {
  test("a secret that contains another is taken whole, whatever their order", () => {
    const short = { name: "SHORT", value: "abcdefgh" };
    const long = { name: "LONG", value: "12abcdefgh34" };
    for (const secrets of [
      [short, long],
      [long, short],
    ]) {
      expect(createRedactor(secrets).text("12abcdefgh34 abcdefgh")).toBe("[redacted:LONG] [redacted:SHORT]");
    }
  });

  test("a secret that begins with another is taken whole, in every chunking", () => {
    const redactor = createRedactor([
      { name: "SHORT", value: "abcdefgh" },
      { name: "LONG", value: "abcdefghijkl" },
    ]);
    for (let at = 0; at <= 12; at++) {
      expect(
        streamed(redactor, [Buffer.from("abcdefghijkl".slice(0, at)), Buffer.from("abcdefghijkl".slice(at))]),
      ).toBe("[redacted:LONG]");
    }
  });

  test("of two names with one value the first is told", () => {
    const redactor = createRedactor([
      { name: "A", value: "same-value" },
      { name: "B", value: "same-value" },
    ]);
    expect(redactor.text("same-value")).toBe("[redacted:A]");
  });

  test("of two that overlap the first in the text is taken", () => {
    const redactor = createRedactor([
      { name: "A", value: "abcdefgh" },
      { name: "B", value: "efghijkl" },
    ]);
    expect(redactor.text("abcdefghijkl")).toBe("[redacted:A]ijkl");
    expect(redactor.text("xefghijkl")).toBe("x[redacted:B]");
  });
});

describe("innocent text", () => {
  test("is not touched by a value shorter than eight characters", () => {
    const redactor = createRedactor([{ name: "S", value: "1234567" }]);
    expect(redactor.text("1234567")).toBe("1234567");
    expect(streamed(redactor, [Buffer.from("1234567")])).toBe("1234567");
  });

  test("is what a redactor without secrets gives back", () => {
    expect(noSecrets.text("anything")).toBe("anything");
    expect(streamed(noSecrets, [Buffer.from("any"), Buffer.from("thing")])).toBe("anything");
  });

  test("keeps even what is not well-formed", () => {
    expect(createRedactor([key]).text("half\ud83d")).toBe("half\ud83d");
  });

  test("comes out of a stream byte for byte, however it is cut", () => {
    const redactor = createRedactor([key, { name: "Z", value: "zzzzzzzzzz" }]);
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 60 }), fc.array(fc.nat(), { maxLength: 6 }), (bytes, places) => {
        const stream = redactor.stream();
        const out = cutAt(bytes, places).map((chunk) => Uint8Array.from(stream.push(chunk)));
        expect(Buffer.concat([...out, stream.end()])).toEqual(Buffer.from(bytes));
      }),
    );
  });

  test("is held back only while it might be the start of a secret", () => {
    const stream = createRedactor([{ name: "K", value: "abcdefgh" }]).stream();
    expect(Buffer.from(stream.push(Buffer.from("line\nabc"))).toString()).toBe("line\n");
    expect(Buffer.from(stream.push(Buffer.from("x"))).toString()).toBe("abcx");
    expect(Buffer.from(stream.push(Buffer.from("abcd"))).toString()).toBe("");
    expect(Buffer.from(stream.end()).toString()).toBe("abcd");
    expect(Buffer.from(stream.end()).toString()).toBe("");
  });
});

describe("every chunking of a stream", () => {
  const alphabet = fc.constantFrom("a", "b", "é", "=", "/");
  const values = fc.array(fc.string({ unit: alphabet, minLength: 8, maxLength: 14 }), { minLength: 1, maxLength: 4 });

  test("gives the same as the whole text at once, and no secret survives", () => {
    const piece = (secrets: readonly string[]): fc.Arbitrary<string> =>
      fc.oneof(
        fc.string({ unit: alphabet, maxLength: 6 }),
        fc.constantFrom(...secrets),
        fc.constantFrom(...secrets.map((value) => value.slice(0, -1))),
        fc.constantFrom(...secrets.map((value) => encodeURIComponent(value))),
        fc.constantFrom(...secrets.map((value) => Buffer.from(value).toString("hex"))),
      );
    const cases = values.chain((secrets) =>
      fc.record({
        secrets: fc.constant(secrets),
        text: fc.array(piece(secrets), { maxLength: 8 }).map((parts) => parts.join("")),
        places: fc.array(fc.nat(), { maxLength: 10 }),
      }),
    );
    fc.assert(
      fc.property(cases, ({ secrets, text, places }) => {
        const redactor = createRedactor(secrets.map((value, index) => ({ name: String(index), value })));
        const whole = redactor.text(text);
        expect(streamed(redactor, cutAt(Buffer.from(text), places))).toBe(whole);
        for (const value of secrets) {
          expect(whole).not.toContain(value);
          expect(whole).not.toContain(encodeURIComponent(value));
          expect(whole).not.toContain(Buffer.from(value).toString("hex"));
        }
      }),
      { numRuns: 500 },
    );
  });

  test("takes out a secret that comes byte by byte", () => {
    const bytes = Buffer.from(`before ${key.value} after`);
    const chunks = Array.from(bytes, (byte) => Uint8Array.of(byte));
    expect(streamed(createRedactor([key]), chunks)).toBe("before [redacted:KEY] after");
  });

  test("leaves two streams of one redactor alone", () => {
    const redactor = createRedactor([{ name: "K", value: "abcdefgh" }]);
    const [first, second] = [redactor.stream(), redactor.stream()];
    first.push(Buffer.from("abcd"));
    const other = [second.push(Buffer.from("efgh")), second.end()];
    expect(Buffer.concat(other).toString()).toBe("efgh");
    expect(Buffer.from(first.push(Buffer.from("efgh"))).toString()).toBe("[redacted:K]");
  });
});

describe("redactJson", () => {
  test("takes secrets out of values and keys at every depth", () => {
    const redactor = createRedactor([key]);
    const value = { list: [{ deep: `a ${key.value}` }], [key.value]: 1 };
    expect(JSON.parse(redactJson(value, redactor))).toEqual({
      list: [{ deep: "a [redacted:KEY]" }],
      "[redacted:KEY]": 1,
    });
  });

  test("stays JSON when a secret looks like a part of it", () => {
    const secrets = ["10000000", '"reward":1', '":10000000,"'].map((value) => ({ name: "N", value }));
    const value = { bytes: 10_000_000, reward: 1, text: "10000000" };
    expect(JSON.parse(redactJson(value, createRedactor(secrets)))).toEqual({ ...value, text: "[redacted:N]" });
  });

  test("indents when asked to", () => {
    expect(redactJson({ a: 1 }, noSecrets, 2)).toBe('{\n  "a": 1\n}');
  });
});
