import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { systemClock } from "../../../base/clock.ts";
import { KubeClient } from "../connection/kube-client.ts";

/** What an API server says: a status and, for a refusal, its message and reason. */
export type Answer = readonly [status: number, message: string, reason?: string];

/** A client of an API server that gives prepared answers. */
export interface PreparedAnswers extends AsyncDisposable {
  readonly client: KubeClient;
  /** How often it was asked. */
  readonly asked: number;
}

/** Opens a server that answers in that order, the last one for good; `NAME` in a message is that of the Pod that was sent. */
export async function openAnswers(answers: readonly Answer[]): Promise<PreparedAnswers> {
  let asked = 0;
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const text = Buffer.concat(await request.toArray()).toString("utf8");
    const { metadata } = JSON.parse(text || '{ "metadata": { "name": "" } }') as { metadata: { name: string } };
    const [status, message, reason] = answers[Math.min(asked++, answers.length - 1)] ?? [201, ""];
    const body = status < 300 ? { metadata } : { message: message.replace("NAME", metadata.name), reason };
    response.writeHead(status).end(JSON.stringify(body));
  };
  const server = createServer((request, response) => void answer(request, response));
  await once(server.listen(0, "127.0.0.1"), "listening");
  const client = clientOf(server);
  return {
    client,
    get asked() {
      return asked;
    },
    async [Symbol.asyncDispose]() {
      client[Symbol.dispose]();
      server.closeAllConnections();
      server.close();
    },
  };
}

/** A client of a server on this machine that asks for no credentials. */
export function clientOf(server: Server): KubeClient {
  const endpoint = {
    server: new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}`),
    ca: null,
    isVerified: true,
    serverName: null,
    credentials: { get: async () => ({ token: null, cert: null, key: null }), forget: () => {} },
    namespace: "evals",
    origin: "the test",
    kubectlOptions: [],
  };
  const pace = { callsPerSecond: 100, burst: 100 };
  return new KubeClient({ endpoint, clock: systemClock, pace, patienceMs: 0 });
}
