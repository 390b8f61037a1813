import { spawn } from "node:child_process";
import { readFile } from "node:fs/promises";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { createGunzip } from "node:zlib";

/** How a server treats the repositories it serves. */
export type GitServerKind =
  /** Filters, and gives any object by its id. */
  | "modern"
  /** The first protocol, no filters, only what refs point at. */
  | "old"
  /** Plain files. */
  | "dumb"
  /** Asks for credentials. */
  | "locked"
  /** Takes requests and never answers. */
  | "silent"
  /** Has a bad day. */
  | "failing";

export interface GitServer extends AsyncDisposable {
  readonly url: string;
  readonly requests: string[];
  /** Settles once the next request has arrived. */
  nextRequest(): Promise<void>;
}

/** Serves the repository in `<root>/repo` on loopback. */
export async function startGitServer(root: string, kind: GitServerKind): Promise<GitServer> {
  const requests: string[] = [];
  let arrived = Promise.withResolvers<void>();
  const server = createServer((request, response) => {
    requests.push(`${request.method} ${request.url}`);
    arrived.resolve();
    arrived = Promise.withResolvers();
    answer(root, kind, request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/repo/.git`,
    requests,
    nextRequest: () => arrived.promise,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function answer(root: string, kind: GitServerKind, request: IncomingMessage, response: ServerResponse): void {
  if (kind === "silent") return;
  if (kind === "failing") response.writeHead(503).end("try later");
  else if (kind === "locked" && request.headers.authorization === undefined) {
    response.writeHead(401, { "www-authenticate": 'Basic realm="secret"' }).end();
  } else if (kind === "dumb") void serveFile(root, request, response);
  else serveBackend(root, kind, request, response);
}

async function serveFile(root: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const path = new URL(request.url ?? "/", "http://x").pathname;
  const bytes = await readFile(join(root, path)).catch(() => null);
  if (bytes === null) response.writeHead(404).end();
  else response.writeHead(200, { "content-type": "application/octet-stream" }).end(bytes);
}

function serveBackend(root: string, kind: GitServerKind, request: IncomingMessage, response: ServerResponse): void {
  const url = new URL(request.url ?? "/", "http://x");
  const settings: Record<string, string> = { "http.uploadpack": "true", "safe.directory": "*" };
  if (kind === "modern" || kind === "locked") {
    settings["uploadpack.allowFilter"] = "true";
    settings["uploadpack.allowAnySHA1InWant"] = "true";
  }
  const protocol = kind === "modern" || kind === "locked" ? request.headers["git-protocol"] : undefined;
  const config = Object.entries(settings).flatMap(([key, value], index) => [
    [`GIT_CONFIG_KEY_${index}`, key],
    [`GIT_CONFIG_VALUE_${index}`, value],
  ]);
  const child = spawn("git", ["http-backend"], {
    env: {
      PATH: process.env["PATH"],
      GIT_PROJECT_ROOT: root,
      GIT_HTTP_EXPORT_ALL: "1",
      PATH_INFO: url.pathname,
      QUERY_STRING: url.search.slice(1),
      REQUEST_METHOD: request.method,
      CONTENT_TYPE: request.headers["content-type"] ?? "",
      REMOTE_ADDR: "127.0.0.1",
      GIT_CONFIG_COUNT: String(Object.keys(settings).length),
      ...Object.fromEntries(config),
      ...(typeof protocol === "string" ? { GIT_PROTOCOL: protocol } : {}),
    },
    stdio: ["pipe", "pipe", "ignore"],
  });
  child.stdin.on("error", () => {});
  const body = request.headers["content-encoding"] === "gzip" ? request.pipe(createGunzip()) : request;
  body.pipe(child.stdin);
  let head = Buffer.alloc(0);
  let isHeadDone = false;
  child.stdout.on("data", (chunk: Buffer) => {
    if (isHeadDone) {
      response.write(chunk);
      return;
    }
    head = Buffer.concat([head, chunk]);
    const end = head.indexOf("\r\n\r\n");
    if (end === -1) return;
    isHeadDone = true;
    const headers = new Map(
      head
        .subarray(0, end)
        .toString()
        .split("\r\n")
        .map((line): [string, string] => [line.slice(0, line.indexOf(":")), line.slice(line.indexOf(":") + 1).trim()]),
    );
    const status = Number.parseInt(headers.get("Status") ?? "200", 10);
    headers.delete("Status");
    response.writeHead(status, Object.fromEntries(headers));
    response.write(head.subarray(end + 4));
  });
  child.on("close", () => response.end());
}
