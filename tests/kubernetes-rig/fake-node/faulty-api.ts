import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import { Agent, createServer, request as secureRequest } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ClusterEndpoint } from "../../../src/environments/kubernetes/connection/cluster-endpoint.ts";
import { answerExec } from "./fake-exec.ts";

/** What was asked of an API server, and what was refused for no reason. */
export interface ApiCounts {
  /** By method and kind: `POST pods`, `GET pods/exec`, `WATCH pods`. */
  readonly calls: Record<string, number>;
  readonly refused: Record<string, number>;
  /** The most watches that were open at once. */
  readonly mostWatches: number;
  /** The most commands that were connected at once. */
  readonly mostExecs: number;
}

/** A way to an API server that refuses some calls, cuts watches and answers commands itself. */
export interface FaultyApi extends AsyncDisposable {
  readonly kubeconfig: string;
  counts(): ApiCounts;
}

// A busy API server says how long it wants to be left alone, one that is ill does not.
const refusals: readonly { readonly every: number; readonly status: number; readonly headers: object }[] = [
  { every: 23, status: 429, headers: { "retry-after": "1" } },
  { every: 41, status: 503, headers: {} },
  { every: 67, status: 500, headers: {} },
];
const watchMs = 20_000;

/** Opens it on a port of this machine, with certificates of its own. */
export async function openFaultyApi({ server, ca, credentials }: ClusterEndpoint): Promise<FaultyApi> {
  const directory = mkdtempSync(join(tmpdir(), "rollout-api-"));
  const { key, cert } = makeCertificate(directory);
  const { key: ownKey, cert: ownCert, token } = await credentials.get(new AbortController().signal);
  const tls = { ca: ca ?? undefined, key: ownKey ?? undefined, cert: ownCert ?? undefined };
  const agent = new Agent({ keepAlive: true, ...tls });
  const counts = { calls: {} as Record<string, number>, refused: {} as Record<string, number> };
  const most = { mostWatches: 0, mostExecs: 0 };
  const [watches, execs] = [new Set<object>(), new Set<object>()];
  let asked = 0;
  const proxy = createServer({ key, cert }, (request, response) => {
    const kind = kindOf(request);
    count(counts.calls, kind);
    asked++;
    const refusal = refusals.find(({ every }) => asked % every === 0);
    if (refusal !== undefined) {
      count(counts.refused, String(refusal.status));
      const body = JSON.stringify({ kind: "Status", message: "refused by the test", code: refusal.status });
      request.resume().once("end", () => response.writeHead(refusal.status, { ...refusal.headers }).end(body));
      return;
    }
    if (kind.startsWith("WATCH")) {
      watches.add(response);
      most.mostWatches = Math.max(most.mostWatches, watches.size);
      const timer = setTimeout(() => response.destroy(), watchMs);
      response.once("close", () => {
        clearTimeout(timer);
        watches.delete(response);
      });
    }
    const headers = { ...request.headers, ...(token === null ? {} : { authorization: `Bearer ${token}` }) };
    forward(request, response, { agent, host: server.hostname, port: server.port, headers });
  });
  proxy.on("upgrade", (request: IncomingMessage, socket) => {
    count(counts.calls, "GET pods/exec");
    execs.add(socket);
    most.mostExecs = Math.max(most.mostExecs, execs.size);
    socket.once("close", () => execs.delete(socket));
    answerExec(request, socket);
  });
  await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
  const { port } = proxy.address() as AddressInfo;
  const kubeconfig = join(directory, "kubeconfig");
  writeFileSync(kubeconfig, JSON.stringify(kubeconfigOf(port, cert)));
  return {
    kubeconfig,
    counts: () => ({ ...counts, ...most }),
    async [Symbol.asyncDispose]() {
      proxy.closeAllConnections();
      proxy.close();
      agent.destroy();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

function forward(request: IncomingMessage, response: ServerResponse, place: object): void {
  const outgoing = secureRequest({ ...place, method: request.method, path: request.url }, (answer) => {
    response.writeHead(answer.statusCode ?? 502, answer.headers);
    // A watch has to be heard before it says something.
    response.flushHeaders();
    answer.on("error", () => response.destroy());
    answer.pipe(response);
  });
  outgoing.on("error", () => response.destroy());
  response.on("close", () => outgoing.destroy());
  request.pipe(outgoing);
}

function kindOf({ method = "", url = "" }: IncomingMessage): string {
  const { pathname, searchParams } = new URL(url, "https://api");
  const words = pathname.split("/").filter((word) => word !== "");
  const at = words.indexOf("namespaces");
  const kind = at === -1 || words.length <= at + 2 ? (words.at(-1) ?? "") : words[at + 2];
  if (searchParams.get("watch") === "true") return `WATCH ${kind}`;
  return `${method === "GET" && words.at(-1) === kind ? "LIST" : method} ${kind}`;
}

function count(counts: Record<string, number>, key: string): void {
  counts[key] = (counts[key] ?? 0) + 1;
}

function makeCertificate(directory: string): { readonly key: Buffer; readonly cert: Buffer } {
  const [key, cert] = [join(directory, "key"), join(directory, "cert")];
  const kind = ["-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"];
  const names = ["-subj", "/CN=test", "-addext", "subjectAltName=IP:127.0.0.1"];
  const { status } = spawnSync("openssl", ["req", ...kind, ...names, "-keyout", key, "-out", cert], {
    stdio: "ignore",
  });
  if (status !== 0) throw new Error("openssl cannot make a certificate");
  return { key: readFileSync(key), cert: readFileSync(cert) };
}

function kubeconfigOf(port: number, cert: Buffer): object {
  const server = { server: `https://127.0.0.1:${port}`, "certificate-authority-data": cert.toString("base64") };
  return {
    clusters: [{ name: "test", cluster: server }],
    users: [{ name: "test", user: {} }],
    contexts: [{ name: "test", context: { cluster: "test", user: "test" } }],
    "current-context": "test",
  };
}
