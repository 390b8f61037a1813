import type { LookupAddress } from "node:dns";
import { lookup } from "node:dns/promises";
import { BlockList, isIP } from "node:net";
import { networkInterfaces } from "node:os";
import { messageOf } from "../../../base/rollout-error.ts";
import { formatTarget, isAllowed, type AllowedHost, type HostAndPort } from "../../../base/allowed-hosts.ts";

/** Where a connection may be opened to, or the status and the words of the answer when it may not. */
export type FoundAddresses =
  | { readonly addresses: readonly LookupAddress[] }
  | { readonly status: 403 | 502; readonly reason: string };

// What a name may not lead to: this machine, its neighbours on the wire, and the services of clouds that give out keys.
const closed = new BlockList();
for (const [net, bits] of [
  ["0.0.0.0", 8],
  ["127.0.0.0", 8],
  ["169.254.0.0", 16],
  ["224.0.0.0", 3],
  ["168.63.129.16", 32],
  ["100.100.100.200", 32],
] as const)
  closed.addSubnet(net, bits, "ipv4");
for (const [net, bits] of [
  ["::", 127],
  ["fe80::", 10],
  ["ff00::", 8],
  ["fd00:ec2::254", 128],
] as const)
  closed.addSubnet(net, bits, "ipv6");

/**
 * Resolves a host that the list allows. Addresses of this machine, of its own link and of metadata services are left
 * out unless the list holds the very address; a host that is not allowed is never looked up.
 */
export async function findAddresses(
  target: HostAndPort,
  allowed: readonly AllowedHost[],
  resolve: (host: string) => Promise<readonly LookupAddress[]> = (host) => lookup(host, { all: true }),
): Promise<FoundAddresses> {
  const asked = formatTarget(target);
  if (!isAllowed(allowed, target)) return { status: 403, reason: `${asked} is not allowed by environment.network` };
  const family = isIP(target.host);
  if (family !== 0) return { addresses: [{ address: target.host, family }] };
  let found: readonly LookupAddress[];
  try {
    found = await resolve(target.host);
  } catch (error) {
    return { status: 502, reason: `${target.host} cannot be resolved: ${messageOf(error)}` };
  }
  const isOpen = ({ address }: LookupAddress): boolean =>
    isAllowed(allowed, { host: address, port: target.port }) || !isClosed(address);
  const addresses = found.filter(isOpen);
  if (addresses.length > 0) return { addresses };
  const where = found.map(({ address }) => address).join(", ");
  return { status: 403, reason: `${asked} leads to ${where}, which is not allowed unless the list names that address` };
}

function isClosed(address: string): boolean {
  const family = isIP(address) === 6 ? "ipv6" : "ipv4";
  if (closed.check(address, family)) return true;
  const own = new BlockList();
  for (const entry of Object.values(networkInterfaces()).flat()) {
    if (entry) own.addAddress(entry.address, entry.family === "IPv6" ? "ipv6" : "ipv4");
  }
  return own.check(address, family);
}
