import { isIP, isIPv6 } from "node:net";

/** A host and a port as they are compared: lower case, punycode, addresses in their one short form, no brackets. */
export interface HostAndPort {
  readonly host: string;
  readonly port: number;
}

/** One entry of a list of allowed hosts. */
export interface AllowedHost {
  readonly host: string;
  /** `*.example.com`: every name below the host, and not the host itself. */
  readonly isBelow: boolean;
  /** Null for every port. */
  readonly port: number | null;
}

/** Reads `example.com`, `*.example.com`, an address, and each of them with `:port`; null for anything else. */
export function parseAllowedHost(text: string): AllowedHost | null {
  const isBelow = text.startsWith("*.");
  const found = splitAuthority(isBelow ? text.slice(2) : text);
  // An address has nothing below it.
  return found === null || (isBelow && isIP(found.host) !== 0) ? null : { ...found, isBelow };
}

/** Reads what a client asks for, `host:port`; null when it is none. */
export function parseTarget(authority: string, defaultPort: number | null): HostAndPort | null {
  const found = splitAuthority(authority);
  const port = found?.port ?? defaultPort;
  return found === null || port === null ? null : { host: found.host, port };
}

/** True when an entry of the list names the host, and the port unless it leaves that open. */
export function isAllowed(allowed: readonly AllowedHost[], { host, port }: HostAndPort): boolean {
  return allowed.some(
    (entry) =>
      (entry.port === null || entry.port === port) &&
      (entry.isBelow ? host.endsWith(`.${entry.host}`) : host === entry.host),
  );
}

/** A host and a port for people. */
export function formatTarget({ host, port }: HostAndPort): string {
  return `${isIPv6(host) ? `[${host}]` : host}:${port}`;
}

function splitAuthority(text: string): { host: string; port: number | null } | null {
  if (isIPv6(text)) return splitAuthority(`[${text}]`);
  const [, host, digits] = /^(\[[0-9a-fA-F:.]+\]|[^\s/?#@\\%:[\]*]+)(?::([0-9]{1,5}))?$/.exec(text) ?? [];
  // The reader of addresses knows every way to write a number, so that none of them gets past the comparison.
  const name = host === undefined ? undefined : URL.parse(`http://${host}/`)?.hostname;
  const port = digits === undefined ? null : Number(digits);
  if (name === undefined || port === 0 || (port ?? 0) > 65_535) return null;
  const plain = name.replace(/^\[|\]$/g, "").replace(/\.$/, "");
  return plain === "" ? null : { host: plain, port };
}
