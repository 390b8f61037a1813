import { isIP } from "node:net";
import { networkInterfaces } from "node:os";
import { expect, test } from "vitest";
import { parseAllowedHost } from "../../../base/allowed-hosts.ts";
import { findAddresses } from "./find-addresses.ts";

const listOf = (...entries: string[]) => entries.flatMap((entry) => parseAllowedHost(entry) ?? []);
const target = { host: "name.test", port: 443 };
const leadingTo =
  (...addresses: string[]) =>
  async () =>
    addresses.map((address) => ({ address, family: isIP(address) }));
const own = Object.values(networkInterfaces()).flatMap((list) => (list ?? []).map(({ address }) => address));

test("a host that is not allowed is never looked up", async () => {
  let isAsked = false;
  const resolve = async () => ((isAsked = true), []);
  const found = await findAddresses({ host: "secret.evil.test", port: 443 }, listOf("name.test"), resolve);
  expect(found).toMatchObject({ status: 403, reason: expect.stringContaining("secret.evil.test:443 is not allowed") });
  expect(isAsked).toBe(false);
});

test.each([
  "127.0.0.1",
  "127.9.9.9",
  "0.0.0.0",
  "169.254.169.254",
  "168.63.129.16",
  "100.100.100.200",
  "224.0.0.1",
  "255.255.255.255",
  "::",
  "::1",
  "fe80::1",
  "ff02::1",
  "fd00:ec2::254",
  "::ffff:127.0.0.1",
  "::ffff:a9fe:a9fe",
  ...own,
])("a name that leads to %s is refused unless the list holds that address", async (address) => {
  expect(await findAddresses(target, listOf("name.test"), leadingTo(address))).toMatchObject({ status: 403 });
  expect(await findAddresses(target, listOf("name.test", `[${address}]:80`), leadingTo(address))).toMatchObject({
    status: 403,
  });
});

test.each(["127.0.0.1", "169.254.169.254"])("a list that holds %s itself lets a name lead there", async (address) => {
  const both = listOf("name.test", `${address}:443`);
  expect(await findAddresses(target, both, leadingTo(address))).toEqual({ addresses: [{ address, family: 4 }] });
});

test("only the addresses that may be reached are left", async () => {
  const found = await findAddresses(target, listOf("name.test"), leadingTo("127.0.0.1", "192.0.2.77", "10.0.0.1"));
  expect(found).toEqual({
    addresses: [
      { address: "192.0.2.77", family: 4 },
      { address: "10.0.0.1", family: 4 },
    ],
  });
});

test("an address is reached when the list holds it, and a name that nobody knows is told", async () => {
  const address = { host: "127.0.0.1", port: 443 };
  expect(await findAddresses(address, listOf("127.0.0.1"))).toEqual({
    addresses: [{ address: "127.0.0.1", family: 4 }],
  });
  const fails = () => Promise.reject(new Error("ENOTFOUND"));
  expect(await findAddresses(target, listOf("name.test"), fails)).toMatchObject({ status: 502 });
});
