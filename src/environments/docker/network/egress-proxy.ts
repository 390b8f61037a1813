import type { LookupAddress } from "node:dns";
import { once } from "node:events";
import {
  createServer,
  request as openRequest,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from "node:http";
import { connect, type AddressInfo, type Socket } from "node:net";
import { pipeline, type Duplex } from "node:stream";
import type { Clock } from "../../../base/clock.ts";
import { messageOf } from "../../../base/rollout-error.ts";
import { formatTarget, parseTarget, type AllowedHost, type HostAndPort } from "../../../base/allowed-hosts.ts";
import { findAddresses } from "./find-addresses.ts";
import { answerPlainly, endToEndHeaders } from "./proxy-answers.ts";

// A container that opens more at once than any client does is held back, and nobody else is.
const mostSockets = 512;
const connectLimitMs = 30_000;

export interface ProxyGuest {
  /** The address that its connections come from. */
  readonly address: string;
  readonly allowed: readonly AllowedHost[];
  /** Told what it asked for in vain, as often as it asks. */
  readonly onRefused: (target: string) => void;
}

interface Visit {
  readonly guest: ProxyGuest;
  readonly sockets: Set<Duplex>;
}

/** An HTTP proxy, CONNECT and plain, that lets each of its guests reach what its own list allows and serves nobody else. */
export class EgressProxy implements AsyncDisposable {
  readonly #server: Server;
  readonly #clock: Clock;
  readonly #visits = new Map<string, Visit>();
  readonly #visitOf = new WeakMap<Duplex, Visit>();

  private constructor(clock: Clock) {
    this.#clock = clock;
    // An upload may take as long as it likes.
    this.#server = createServer({ requestTimeout: 0 });
    this.#server.on("connection", (socket) => this.#meet(socket));
    this.#server.on("connect", (request, socket, head) => {
      this.#tunnel(request, socket, head).catch(() => socket.destroy());
    });
    this.#server.on("request", (request, response) => {
      this.#forward(request, response).catch(() => response.destroy());
    });
    this.#server.on("clientError", (_error, socket) => socket.destroy());
  }

  /** Starts to listen on an address of this machine, on a port that is free. */
  static async open(address: string, clock: Clock): Promise<EgressProxy> {
    const proxy = new EgressProxy(clock);
    proxy.#server.listen(0, address);
    await once(proxy.#server, "listening");
    return proxy;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** Serves a guest from now on, under this list alone. */
  admit(guest: ProxyGuest): void {
    this.dismiss(guest.address);
    this.#visits.set(guest.address, { guest, sockets: new Set() });
  }

  /** Ends every connection of a guest and serves it no more. */
  dismiss(address: string): void {
    const visit = this.#visits.get(address);
    this.#visits.delete(address);
    for (const socket of visit?.sockets ?? []) socket.destroy();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const address of this.#visits.keys()) this.dismiss(address);
    const closed = once(this.#server, "close");
    this.#server.close();
    this.#server.closeAllConnections();
    await closed;
  }

  #meet(socket: Socket): void {
    const visit = this.#visits.get(socket.remoteAddress ?? "");
    if (visit === undefined || visit.sockets.size >= mostSockets) {
      socket.destroy();
      return;
    }
    socket.on("error", () => {});
    this.#visitOf.set(socket, visit);
    hold(visit, socket);
  }

  async #tunnel(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    const answer = (status: number, reason: string): void => {
      socket.end(answerPlainly(status, reason));
      // Whoever keeps talking to a closed door would hold it open.
      socket.resume();
    };
    const way = await this.#findWay(this.#visitOf.get(socket), parseTarget(request.url ?? "", null));
    if (!("upstream" in way)) return answer(way.status, way.reason);
    const { upstream } = way;
    try {
      await once(upstream, "connect");
    } catch (error) {
      return answer(502, messageOf(error));
    }
    socket.write("HTTP/1.1 200 Connection established\r\n\r\n");
    upstream.write(head);
    const end = (error: unknown): void => {
      if (!error) return;
      socket.destroy();
      upstream.destroy();
    };
    pipeline(socket, upstream, end);
    pipeline(upstream, socket, end);
  }

  async #forward(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const answer = (status: number, reason: string): void => {
      if (response.headersSent) return void response.destroy();
      response.writeHead(status, { "Content-Type": "text/plain", Connection: "close" });
      response.end(`${reason}\n`);
      request.resume();
    };
    const url = URL.parse(request.url ?? "");
    if (url?.protocol !== "http:") return answer(400, "this is a proxy: ask it for http://host/path, or to CONNECT");
    const way = await this.#findWay(this.#visitOf.get(request.socket), parseTarget(url.host, 80));
    if (!("upstream" in way)) return answer(way.status, way.reason);
    const { upstream } = way;
    const onward = openRequest({
      method: request.method,
      path: `${url.pathname}${url.search}`,
      // The name that was checked is the name that is asked for.
      headers: { ...endToEndHeaders(request), host: url.host, connection: "close" },
      createConnection: () => upstream,
    });
    onward.on("error", (error) => answer(502, messageOf(error)));
    onward.on("response", (reply) => {
      try {
        response.writeHead(reply.statusCode ?? 502, endToEndHeaders(reply));
        pipeline(reply, response, () => upstream.destroy());
      } catch (error) {
        // Not every answer that can be read can be written.
        upstream.destroy(error instanceof Error ? error : undefined);
        answer(502, messageOf(error));
      }
    });
    onward.on("close", () => {
      if (!response.headersSent) answer(502, `${url.host} gave no answer`);
    });
    response.on("close", () => upstream.destroy());
    pipeline(request, onward, () => {});
  }

  async #findWay(
    visit: Visit | undefined,
    target: HostAndPort | null,
  ): Promise<{ readonly upstream: Socket } | { readonly status: number; readonly reason: string }> {
    if (visit === undefined) return { status: 403, reason: "nobody may use this proxy from here" };
    if (target === null) return { status: 400, reason: "there is no host and port in what was asked for" };
    const found = await findAddresses(target, visit.guest.allowed);
    if ("addresses" in found) return { upstream: this.#dial(visit, target, found.addresses) };
    if (found.status === 403) visit.guest.onRefused(formatTarget(target));
    return found;
  }

  // Only the addresses that were checked are tried; the name is not resolved again.
  #dial(visit: Visit, { host, port }: HostAndPort, addresses: readonly LookupAddress[]): Socket {
    const upstream = connect({
      host,
      port,
      allowHalfOpen: true,
      autoSelectFamily: true,
      lookup: (_host, _options, done) => done(null, [...addresses]),
    });
    const timer = this.#clock.startTimer(connectLimitMs, () =>
      upstream.destroy(new Error(`${host} does not answer on port ${port}`)),
    );
    upstream.on("error", () => {});
    for (const event of ["connect", "close"]) upstream.once(event, () => timer.clear());
    // It may have been dismissed while the name was looked up.
    if (this.#visits.get(visit.guest.address) === visit) hold(visit, upstream);
    else upstream.destroy(new Error("the network policy has changed"));
    return upstream;
  }
}

function hold({ sockets }: Visit, socket: Duplex): void {
  sockets.add(socket);
  socket.once("close", () => sockets.delete(socket));
}
