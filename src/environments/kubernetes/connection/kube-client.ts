import type { IncomingMessage, RequestOptions } from "node:http";
import { request as plainRequest, Agent as PlainAgent } from "node:http";
import { Agent as SecureAgent, request as secureRequest, type AgentOptions } from "node:https";
import { isIP } from "node:net";
import type { Duplex } from "node:stream";
import { checkServerIdentity, createSecureContext } from "node:tls";
import type { Clock } from "../../../base/clock.ts";
import { messageOf } from "../../../base/rollout-error.ts";
import { startDeadline } from "../../../engine/deadline.ts";
import type { ClusterEndpoint, Credentials } from "./cluster-endpoint.ts";
import { CallPace, type PaceLimits } from "./call-pace.ts";
import { hasStatus, isPassing, KubeError } from "./kube-error.ts";
import { readText, refusalOf } from "./refusal.ts";

export interface KubeRequest {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** With its query: `/api/v1/namespaces/default/pods?limit=1`. */
  readonly path: string;
  readonly json?: unknown;
  readonly contentType?: string | undefined;
  readonly signal: AbortSignal;
}

const answerLimitMs = 60_000;
const firstWaitMs = 200;
const longestWaitMs = 5000;

export interface KubeClientOptions {
  readonly endpoint: ClusterEndpoint;
  readonly clock: Clock;
  readonly pace: PaceLimits;
  /** How long a call is made again while the cluster is in trouble. */
  readonly patienceMs: number;
}

/** Speaks to one API server; rejects with a `KubeError`, or with the reason of an aborted signal. */
export class KubeClient implements Disposable {
  readonly endpoint: ClusterEndpoint;
  readonly #clock: Clock;
  readonly #patienceMs: number;
  readonly #pace: CallPace;
  readonly #request: typeof plainRequest;
  #agent: HeldAgent | null = null;
  #passingAgent: HeldAgent | null = null;

  constructor({ endpoint, clock, pace, patienceMs }: KubeClientOptions) {
    this.endpoint = endpoint;
    this.#clock = clock;
    this.#patienceMs = patienceMs;
    this.#pace = new CallPace(pace, clock);
    this.#request = endpoint.server.protocol === "http:" ? plainRequest : secureRequest;
  }

  /** The answer as JSON. What a cluster in trouble refuses is asked again: every call of ours may be made twice. */
  async json<T>(request: KubeRequest): Promise<T> {
    const { signal } = request;
    const endMs = this.#clock.monotonic() + this.#patienceMs;
    for (let tries = 0; ; tries++) {
      try {
        return await this.#once<T>(request, tries > 0);
      } catch (error) {
        signal.throwIfAborted();
        const isRenewed = hasStatus(error, 401) && tries === 0;
        if (!isRenewed && (!isPassing(error) || this.#clock.monotonic() >= endMs)) throw error;
        if (!isRenewed) await this.#clock.sleep(waitBefore(error, tries), signal);
      }
    }
  }

  /** Asked once, without patience. */
  async jsonOnce<T>(request: KubeRequest): Promise<T> {
    return this.#once<T>(request, false);
  }

  /** The answer with its body still to be read; one with an error status rejects. */
  async open(request: KubeRequest): Promise<IncomingMessage> {
    const answer = await this.#send(request, {}, false);
    if ("answer" in answer) return answer.answer;
    answer.socket.destroy();
    throw new KubeError(null, "the API server hands over a connection that nobody asked for");
  }

  /** The connection itself, in both directions, once the API server has handed it over; with the headers of its answer. */
  async upgrade(
    request: KubeRequest,
    headers: Readonly<Record<string, string>>,
  ): Promise<{ readonly socket: Duplex; readonly headers: IncomingMessage["headers"] }> {
    for (let tries = 0; ; tries++) {
      try {
        return await this.#bounded(request, async (bounded) => {
          const answer = await this.#send(bounded, headers, tries > 0);
          if ("socket" in answer) return answer;
          answer.answer.destroy();
          throw new KubeError(null, "the API server does not hand over the connection");
        });
      } catch (error) {
        if (!hasStatus(error, 401) || tries > 0) throw error;
      }
    }
  }

  [Symbol.dispose](): void {
    this.#agent?.agent.destroy();
  }

  async #once<T>(request: KubeRequest, isAgain: boolean): Promise<T> {
    await this.#pace.take(request.signal);
    const text = await this.#bounded(request, async (bounded) => {
      const answer = await this.#send(bounded, {}, isAgain);
      if (!("answer" in answer)) throw new KubeError(null, "the API server hands over the connection");
      const onAbort = (): void => void answer.answer.destroy();
      bounded.signal.addEventListener("abort", onAbort, { once: true });
      try {
        return await readText(answer.answer);
      } catch (error) {
        throw lost(error);
      } finally {
        bounded.signal.removeEventListener("abort", onAbort);
      }
    });
    try {
      return JSON.parse(text) as T;
    } catch (error) {
      throw new KubeError(null, `the answer to ${request.path} is no JSON`, { cause: error });
    }
  }

  async #bounded<T>(request: KubeRequest, work: (bounded: KubeRequest) => Promise<T>): Promise<T> {
    const limit = { clock: this.#clock, limitMs: answerLimitMs, parent: request.signal, what: "the cluster's answer" };
    using deadline = startDeadline(limit);
    try {
      return await work({ ...request, signal: deadline.signal });
    } catch (error) {
      request.signal.throwIfAborted();
      if (!deadline.signal.aborted) throw error;
      throw new KubeError(null, `the API server did not answer within ${answerLimitMs / 1000} seconds`);
    }
  }

  async #send(
    request: KubeRequest,
    headers: Readonly<Record<string, string>>,
    isAgain: boolean,
  ): Promise<
    { readonly answer: IncomingMessage } | { readonly socket: Duplex; readonly headers: IncomingMessage["headers"] }
  > {
    const { signal, json } = request;
    signal.throwIfAborted();
    const credentials = await this.endpoint.credentials.get(signal);
    const { server } = this.endpoint;
    const options: RequestOptions = {
      host: server.hostname.replace(/^\[(.*)\]$/, "$1"),
      port: server.port || (server.protocol === "http:" ? 80 : 443),
      // A connection that died while nobody used it is not taken a second time.
      agent: isAgain || "upgrade" in headers ? this.#freshAgent(credentials) : this.#agentFor(credentials),
      method: request.method,
      path: `${server.pathname.replace(/\/$/, "")}${request.path}`,
    };
    const body = json === undefined ? undefined : Buffer.from(JSON.stringify(json));
    const length = body === undefined ? {} : { "content-length": String(body.length) };
    const outgoing = this.#request({
      ...options,
      headers: { ...headersOf(request, credentials), ...length, ...headers },
    });
    return new Promise((resolve, reject) => {
      const onAbort = (): void => {
        outgoing.destroy();
        reject(signal.reason);
      };
      signal.addEventListener("abort", onAbort, { once: true });
      const settled = (): void => signal.removeEventListener("abort", onAbort);
      outgoing.on("upgrade", (answer, socket, head) => {
        settled();
        socket.on("error", () => {});
        if (head.length > 0) socket.unshift(head);
        resolve({ socket, headers: answer.headers });
      });
      outgoing.on("response", (answer) => {
        settled();
        // What is lost in the middle of an answer is told by whoever reads it.
        answer.on("error", () => {});
        if ((answer.statusCode ?? 500) < 400) return resolve({ answer });
        if (answer.statusCode === 401) this.endpoint.credentials.forget();
        void refusalOf(answer).then(reject, reject);
      });
      outgoing.on("error", (error) => {
        settled();
        reject(lost(error));
      });
      outgoing.end(body);
    });
  }

  #agentFor(credentials: Credentials): PlainAgent {
    if (this.#agent !== null && isSame(this.#agent, credentials)) return this.#agent.agent;
    this.#agent?.agent.destroy();
    this.#agent = { credentials, agent: this.#makeAgent(credentials, true) };
    return this.#agent.agent;
  }

  // It keeps no connection, but what makes the next one cheap: the parsed certificates and the server's tickets.
  #freshAgent(credentials: Credentials): PlainAgent {
    if (this.#passingAgent !== null && isSame(this.#passingAgent, credentials)) return this.#passingAgent.agent;
    this.#passingAgent = { credentials, agent: this.#makeAgent(credentials, false) };
    return this.#passingAgent.agent;
  }

  #makeAgent({ cert, key }: Credentials, keepAlive: boolean): PlainAgent {
    const { server, ca, isVerified, serverName } = this.endpoint;
    if (server.protocol === "http:") return new PlainAgent({ keepAlive });
    const secureContext = createSecureContext({ ca: ca ?? undefined, cert: cert ?? undefined, key: key ?? undefined });
    return new SecureAgent({ keepAlive, secureContext, rejectUnauthorized: isVerified, ...namedAs(serverName) });
  }
}

interface HeldAgent {
  readonly credentials: Credentials;
  readonly agent: PlainAgent;
}

function isSame({ credentials }: HeldAgent, { cert, key }: Credentials): boolean {
  return credentials.cert === cert && credentials.key === key;
}

// An address cannot be asked for by name, only looked for in the certificate.
function namedAs(serverName: string | null): AgentOptions {
  if (serverName === null) return {};
  return {
    ...(isIP(serverName) === 0 ? { servername: serverName } : {}),
    checkServerIdentity: (_host, certificate) => checkServerIdentity(serverName, certificate),
  };
}

function headersOf({ json, contentType }: KubeRequest, { token }: Credentials): Record<string, string> {
  return {
    accept: "application/json",
    "user-agent": "rollout",
    ...(json === undefined ? {} : { "content-type": contentType ?? "application/json" }),
    ...(token === null ? {} : { authorization: `Bearer ${token}` }),
  };
}

function waitBefore(error: unknown, tries: number): number {
  const asked = error instanceof KubeError ? error.retryAfterMs : null;
  const own = Math.min(firstWaitMs * 2 ** tries, longestWaitMs);
  // Not all at once: whoever was refused with us comes back with us.
  return (asked ?? own) + Math.random() * own;
}

/** What went wrong on the way to the API server. */
function lost(error: unknown): KubeError {
  if (error instanceof KubeError) return error;
  return new KubeError(null, `the connection to the API server failed: ${messageOf(error)}`, { cause: error });
}
