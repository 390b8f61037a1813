import { randomUUID } from "node:crypto";
import { performServerHandshake, type IncomingHttpHeaders, type ServerHttp2Stream } from "node:http2";
import type { Duplex } from "node:stream";
import type { EngineClient } from "../connection/engine-client.ts";
import type { RegistryAuth } from "../../images/registry-auth.ts";
import { protobufText, writeProtobuf } from "./protobuf.ts";

const grpcUnimplemented = "12";
const grpcNotFound = "5";

/** What a builder may ask for while it works. */
export interface BuildSessionServices {
  /** The credentials for a registry host; null for none. */
  findAuth(host: string): Promise<RegistryAuth | null>;
  /** The bytes of a secret; null when there is none of that id. */
  readSecret(id: string): Promise<Buffer | null>;
}

type Answer = { readonly body: Buffer } | { readonly status: string; readonly message: string };

/** A connection on which BuildKit asks us for credentials and secrets; close it when the build is over. */
export interface BuildSession extends Disposable {
  readonly id: string;
}

/** Opens a session for one build. */
export async function openBuildSession(
  client: EngineClient,
  services: BuildSessionServices,
  signal: AbortSignal,
): Promise<BuildSession> {
  const id = randomUUID().replaceAll("-", "");
  const methods: Readonly<Record<string, (message: Buffer) => Promise<Answer>>> = {
    "/grpc.health.v1.Health/Check": async () => ({ body: Buffer.from([0x08, 0x01]) }),
    "/moby.filesync.v1.Auth/Credentials": async (message) => {
      const auth = await services.findAuth(protobufText(message, 1));
      const username = auth?.identityToken === undefined ? (auth?.username ?? "") : "";
      const secret = auth?.identityToken ?? auth?.password ?? "";
      return {
        body: writeProtobuf([
          { number: 1, value: username },
          { number: 2, value: secret },
        ]),
      };
    },
    "/moby.buildkit.secrets.v1.Secrets/GetSecret": async (message) => {
      const name = protobufText(message, 1);
      const data = await services.readSecret(name);
      if (data === null) return { status: grpcNotFound, message: `there is no secret ${name}` };
      return { body: writeProtobuf([{ number: 1, value: data }]) };
    },
  };
  const socket = await client.hijack(
    {
      method: "POST",
      path: "/session",
      headers: {
        "x-docker-expose-session-uuid": id,
        "x-docker-expose-session-name": "rollout",
        "x-docker-expose-session-sharedkey": "",
        "x-docker-expose-session-grpc-method": Object.keys(methods),
      },
      signal,
    },
    "h2c",
  );
  serve(socket, methods);
  return { id, [Symbol.dispose]: () => void socket.destroy() };
}

function serve(socket: Duplex, methods: Readonly<Record<string, (message: Buffer) => Promise<Answer>>>): void {
  const session = performServerHandshake(socket);
  session.on("error", () => socket.destroy());
  session.on("stream", (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => {
    stream.on("error", () => {});
    const method = methods[String(headers[":path"])];
    readMessage(stream)
      .then((message): Promise<Answer> => {
        if (method) return method(message);
        return Promise.resolve({ status: grpcUnimplemented, message: "not served" });
      })
      .catch((error: unknown): Answer => ({ status: "2", message: String(error) }))
      .then((answer) => respond(stream, answer))
      .catch(() => stream.destroy());
  });
}

// A message comes after five bytes that tell whether it is compressed and how long it is.
async function readMessage(stream: ServerHttp2Stream): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream as AsyncIterable<Buffer>) chunks.push(chunk);
  return Buffer.concat(chunks).subarray(5);
}

function respond(stream: ServerHttp2Stream, answer: Answer): void {
  if (stream.destroyed) return;
  stream.respond({ ":status": 200, "content-type": "application/grpc" }, { waitForTrailers: true });
  stream.on("wantTrailers", () =>
    stream.sendTrailers(
      "body" in answer
        ? { "grpc-status": "0" }
        : { "grpc-status": answer.status, "grpc-message": encodeURIComponent(answer.message) },
    ),
  );
  if (!("body" in answer)) return void stream.end();
  const head = Buffer.alloc(5);
  head.writeUInt32BE(answer.body.length, 1);
  stream.end(Buffer.concat([head, answer.body]));
}
