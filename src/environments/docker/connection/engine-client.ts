import {
  Agent as PlainAgent,
  request as plainRequest,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type RequestOptions,
} from "node:http";
import { Agent as SecureAgent, request as secureRequest } from "node:https";
import type { Duplex } from "node:stream";
import { Readable } from "node:stream";
import type { Clock } from "../../../base/clock.ts";
import type { Host } from "../../../base/host.ts";
import { messageOf } from "../../../base/rollout-error.ts";
import { startDeadline } from "../../../engine/deadline.ts";
import type { EngineEndpoint } from "./engine-endpoint.ts";
import { EngineError } from "./engine-error.ts";
import { openSshConnection } from "./ssh-connection.ts";

export interface EngineRequest {
  readonly method: "GET" | "HEAD" | "POST" | "PUT" | "DELETE";
  /** Without the version: `/containers/json`. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string | number | boolean | undefined>> | undefined;
  readonly headers?: Readonly<Record<string, string | readonly string[]>> | undefined;
  readonly json?: unknown;
  readonly body?: AsyncIterable<Uint8Array> | undefined;
  readonly signal: AbortSignal;
}

const longestMessage = 64 * 1024;
const keepAliveMs = 30_000;
// An engine that works answers within seconds, a busy one within a minute; one that never does must not hold us.
const answerLimitMs = 120_000;

/** Speaks the Engine API over one endpoint; rejects with an `EngineError`, or with the reason of an aborted signal. */
export class EngineClient implements Disposable {
  readonly endpoint: EngineEndpoint;
  readonly #options: RequestOptions;
  readonly #agent: PlainAgent;
  readonly #request: typeof plainRequest;
  readonly #clock: Clock;
  /** Put before every path once it is known: `/v1.41`. */
  versionPrefix = "";

  constructor(endpoint: EngineEndpoint, host: Pick<Host, "env">, clock: Clock) {
    this.endpoint = endpoint;
    this.#clock = clock;
    const pool = { keepAlive: true, keepAliveMsecs: keepAliveMs };
    const isSecure = endpoint.kind === "tcp" && endpoint.tls !== null;
    this.#request = isSecure ? secureRequest : plainRequest;
    if (endpoint.kind === "tcp" && endpoint.tls) {
      const { ca, cert, key, isVerified } = endpoint.tls;
      const files = { ca: ca ?? undefined, cert: cert ?? undefined, key: key ?? undefined };
      this.#agent = new SecureAgent({ ...pool, ...files, rejectUnauthorized: isVerified });
    } else this.#agent = new PlainAgent(pool);
    if (endpoint.kind === "ssh") {
      this.#agent.createConnection = () => openSshConnection(endpoint.args, host.env);
    }
    this.#options =
      endpoint.kind === "unix"
        ? { socketPath: endpoint.socketPath, host: "docker" }
        : endpoint.kind === "tcp"
          ? { host: endpoint.host, port: endpoint.port }
          : { host: "engine" };
  }

  /** The answer of the engine with its body still to be read; one with an error status rejects. */
  async open(request: EngineRequest): Promise<IncomingMessage> {
    try {
      return await this.#send(request);
    } catch (error) {
      // A pooled connection may have died while nobody used it; what changes nothing can be asked again.
      if (!(error instanceof StaleConnection)) throw error;
      if (request.method === "POST" || request.method === "PUT") throw error.reason;
      return await this.#send(request).catch((again: unknown) => {
        throw again instanceof StaleConnection ? again.reason : again;
      });
    }
  }

  /** The answer as JSON; null when it is empty. */
  async json<T>(request: EngineRequest): Promise<T> {
    const text = await this.text(request);
    try {
      return (text.trim() === "" ? null : JSON.parse(text)) as T;
    } catch (error) {
      throw new EngineError(null, `the engine's answer to ${request.path} is no JSON`, error);
    }
  }

  /** The answer as text. */
  text(request: EngineRequest): Promise<string> {
    return this.#bounded(request, async (bounded) => {
      const answer = await this.open(bounded);
      const onAbort = (): void => void answer.destroy();
      bounded.signal.addEventListener("abort", onAbort, { once: true });
      try {
        return await readText(answer, Number.POSITIVE_INFINITY);
      } catch (error) {
        throw lost(error);
      } finally {
        bounded.signal.removeEventListener("abort", onAbort);
      }
    });
  }

  /** The headers of the answer, which has nothing else. */
  headers(request: Omit<EngineRequest, "method">): Promise<IncomingHttpHeaders> {
    return this.#bounded({ ...request, method: "HEAD" }, async (bounded) => {
      const answer = await this.open(bounded);
      answer.resume();
      return answer.headers;
    });
  }

  /** The connection itself, in both directions, once the engine has handed it over. */
  hijack(request: EngineRequest, protocol = "tcp"): Promise<Duplex> {
    return this.#bounded(request, (bounded) => this.#upgrade(bounded, protocol));
  }

  [Symbol.dispose](): void {
    this.#agent.destroy();
  }

  async #bounded<T>(request: EngineRequest, work: (bounded: EngineRequest) => Promise<T>): Promise<T> {
    const limit = { clock: this.#clock, limitMs: answerLimitMs, parent: request.signal, what: "the engine's answer" };
    using deadline = startDeadline(limit);
    try {
      return await work({ ...request, signal: deadline.signal });
    } catch (error) {
      request.signal.throwIfAborted();
      if (!deadline.signal.aborted) throw error;
      throw new EngineError(null, `the engine did not answer within ${answerLimitMs / 1000} seconds`, error);
    }
  }

  #upgrade(request: EngineRequest, protocol: string): Promise<Duplex> {
    request.signal.throwIfAborted();
    const outgoing = this.#request({
      ...this.#options,
      agent: this.#agent,
      method: request.method,
      path: this.#pathOf(request),
      headers: { ...headersOf(request), connection: "Upgrade", upgrade: protocol },
    });
    return new Promise((resolve, reject) => {
      const onAbort = (): void => {
        outgoing.destroy();
        reject(request.signal.reason);
      };
      request.signal.addEventListener("abort", onAbort, { once: true });
      const settle = (work: () => void): void => {
        request.signal.removeEventListener("abort", onAbort);
        work();
      };
      outgoing.on("upgrade", (_answer, socket, head) => {
        socket.on("error", () => {});
        if (head.length > 0) socket.unshift(head);
        settle(() => resolve(socket));
      });
      outgoing.on("response", (answer) => settle(() => void refusalOf(answer).then(reject, reject)));
      outgoing.on("error", (error) => settle(() => reject(lost(error))));
      outgoing.end(request.json === undefined ? undefined : JSON.stringify(request.json));
    });
  }

  #pathOf({ path, query = {} }: EngineRequest): string {
    const pairs = Object.entries(query).flatMap<[string, string]>(([key, value]) =>
      value === undefined ? [] : [[key, String(value)]],
    );
    const text = new URLSearchParams(pairs).toString();
    return `${this.versionPrefix}${path}${text === "" ? "" : `?${text}`}`;
  }

  async #send(request: EngineRequest): Promise<IncomingMessage> {
    const { signal, body } = request;
    signal.throwIfAborted();
    const outgoing = this.#request({
      ...this.#options,
      agent: this.#agent,
      method: request.method,
      path: this.#pathOf(request),
      headers: headersOf(request),
    });
    const answer = await new Promise<IncomingMessage>((resolve, reject) => {
      const onAbort = (): void => {
        outgoing.destroy();
        reject(signal.reason);
      };
      signal.addEventListener("abort", onAbort, { once: true });
      outgoing.on("response", (incoming) => {
        signal.removeEventListener("abort", onAbort);
        // An engine that is lost in the middle of an answer is told by whoever reads it.
        incoming.on("error", () => {});
        resolve(incoming);
      });
      outgoing.on("error", (error) => {
        signal.removeEventListener("abort", onAbort);
        reject(outgoing.reusedSocket && body === undefined ? new StaleConnection(lost(error)) : lost(error));
      });
      if (body === undefined) outgoing.end(request.json === undefined ? undefined : JSON.stringify(request.json));
      else {
        const source = Readable.from(body, { objectMode: false, highWaterMark: 1 << 18 });
        source.on("error", (error) => {
          outgoing.destroy();
          reject(error);
        });
        outgoing.on("close", () => source.destroy());
        source.pipe(outgoing);
      }
    });
    if ((answer.statusCode ?? 500) >= 400) throw await refusalOf(answer);
    return answer;
  }
}

class StaleConnection extends Error {
  readonly reason: EngineError;

  constructor(reason: EngineError) {
    super(reason.message);
    this.reason = reason;
  }
}

function headersOf({ headers, json }: EngineRequest): Record<string, string | string[]> {
  const own: Record<string, string | string[]> = {};
  if (json !== undefined) own["content-type"] = "application/json";
  for (const [key, value] of Object.entries(headers ?? {})) own[key] = typeof value === "string" ? value : [...value];
  return own;
}

async function readText(answer: IncomingMessage, most: number): Promise<string> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    length += chunk.length;
    if (length > most) break;
  }
  return Buffer.concat(chunks).toString("utf8");
}

async function refusalOf(answer: IncomingMessage): Promise<EngineError> {
  const text = await readText(answer, longestMessage).catch(() => "");
  const status = answer.statusCode ?? 500;
  let message = text.trim();
  try {
    const parsed = JSON.parse(text) as { message?: unknown; cause?: unknown };
    if (typeof parsed.message === "string" && parsed.message !== "") message = parsed.message;
  } catch {
    // Then the text itself is all it has to say.
  }
  return new EngineError(status, message || `the engine answered ${status}`);
}

/** What went wrong on the way to the engine. */
function lost(error: unknown): EngineError {
  if (error instanceof EngineError) return error;
  return new EngineError(null, `the connection to the engine failed: ${messageOf(error)}`, error);
}
