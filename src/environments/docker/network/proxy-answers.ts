import { STATUS_CODES, type IncomingMessage } from "node:http";

// They belong to one connection and not to the message.
const hopByHop = new Set(
  `connection proxy-connection keep-alive proxy-authenticate proxy-authorization te trailer upgrade expect host`.split(
    " ",
  ),
);

/** A whole answer in plain text, for a connection that no server writes on. */
export function answerPlainly(status: number, reason: string): string {
  const body = `${reason}\n`;
  return [
    `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? "Error"}`,
    "Content-Type: text/plain",
    `Content-Length: ${Buffer.byteLength(body)}`,
    "Connection: close",
    "",
    body,
  ].join("\r\n");
}

/** The headers of a message that are passed on. */
export function endToEndHeaders({ headersDistinct }: IncomingMessage): Record<string, string[]> {
  const named = (headersDistinct["connection"] ?? []).flatMap((value) => value.toLowerCase().split(/\s*,\s*/));
  const kept = Object.entries(headersDistinct).filter(([name]) => !hopByHop.has(name) && !named.includes(name));
  return Object.fromEntries(kept.map(([name, values]) => [name, values ?? []]));
}
