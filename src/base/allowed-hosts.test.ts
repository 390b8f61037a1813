import { describe, expect, test } from "vitest";
import { formatTarget, isAllowed, parseAllowedHost, parseTarget } from "./allowed-hosts.ts";

const allows = (entry: string, target: string): boolean => {
  const [allowed, asked] = [parseAllowedHost(entry), parseTarget(target, null)];
  if (allowed === null || asked === null) throw new Error(`${entry} or ${target} cannot be read`);
  return isAllowed([allowed], asked);
};

describe("an entry allows", () => {
  test.each([
    ["example.com", "example.com:443"],
    ["example.com", "EXAMPLE.com.:8080"],
    ["Example.COM.", "example.com:443"],
    ["example.com:443", "example.com:443"],
    ["*.example.com", "a.example.com:443"],
    ["*.example.com", "a.b.example.com:443"],
    ["*.example.com:443", "a.example.com:443"],
    ["bücher.example", "xn--bcher-kva.example:443"],
    ["192.0.2.1", "192.0.2.1:80"],
    ["127.0.0.1:80", "0x7f.1:80"],
    ["2001:db8::1", "[2001:DB8:0:0::1]:80"],
    ["[2001:db8::1]:80", "[2001:db8::1]:80"],
    ["localhost", "localhost:1"],
  ])("%s: %s", (entry, target) => expect(allows(entry, target)).toBe(true));
});

describe("an entry does not allow", () => {
  test.each([
    ["example.com", "a.example.com:443"],
    ["example.com", "badexample.com:443"],
    ["example.com", "example.com.evil.test:443"],
    ["example.com:443", "example.com:80"],
    ["*.example.com", "example.com:443"],
    ["*.example.com", "badexample.com:443"],
    ["*.example.com:443", "a.example.com:80"],
    ["10.0.0.1", "10.0.0.10:80"],
    ["0.0.1", "10.0.0.1:80"],
  ])("%s: %s", (entry, target) => expect(allows(entry, target)).toBe(false));
});

test.each([
  "",
  "*",
  "*.",
  "*.*.com",
  "a*.com",
  "https://example.com",
  "example.com/path",
  "user@example.com",
  "example.com:",
  "example.com:0",
  "example.com:65536",
  "example.com:80:80",
  "a b",
  "%65xample.com",
  "*.10.0.0.1",
  "[::1",
  "[fe80::1%eth0]",
  "1.2.3.4.5",
])("%j is no entry", (text) => expect(parseAllowedHost(text)).toBeNull());

test("a target needs a port, its own or the given one", () => {
  expect(parseTarget("example.com", null)).toBeNull();
  expect(parseTarget("example.com", 80)).toEqual({ host: "example.com", port: 80 });
  expect(parseTarget("/path", 80)).toBeNull();
  expect(formatTarget({ host: "2001:db8::1", port: 443 })).toBe("[2001:db8::1]:443");
});
