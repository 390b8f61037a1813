import { connect, createServer as createPlainServer, type AddressInfo, type Server, type Socket } from "node:net";
import { createServer as createSecureServer } from "node:tls";
import { addressOf } from "../../../src/environments/docker/connection/engine-endpoint.ts";
import { findEngine } from "../../../src/environments/docker/connection/find-engine.ts";
import { readHost } from "../../../src/base/host.ts";

/** A way to this machine's engine that can be cut. */
export interface CuttableProxy extends AsyncDisposable {
  readonly address: string;
  /** The next request that holds this text reaches the engine, and its answer nobody. */
  loseAnswerTo(text: string): void;
  /** Makes it whole again, so that what was made over it can be removed. */
  reopen(): Promise<void>;
}

/** Opens a TCP port, encrypted when certificates are given, that leads to the socket of this machine's engine. */
export async function openCuttableProxy(tls?: { readonly key: Buffer; readonly cert: Buffer }): Promise<CuttableProxy> {
  const endpoint = await findEngine(readHost(process));
  if (endpoint.kind !== "unix") throw new Error(`the tests need an engine behind a socket, not ${addressOf(endpoint)}`);
  const sockets = new Set<Socket>();
  let doomed: string | null = null;
  const join = (socket: Socket): void => {
    const engine = connect(endpoint.socketPath);
    for (const end of [socket, engine]) {
      sockets.add(end);
      end.on("error", () => {});
      end.on("close", () => sockets.delete(end));
    }
    socket.on("data", (chunk: Buffer) => {
      if (doomed === null || !chunk.includes(doomed)) return;
      doomed = null;
      engine.unpipe(socket);
      engine.once("data", () => socket.destroy()).resume();
    });
    socket.pipe(engine).pipe(socket);
    socket.on("close", () => engine.destroy());
    engine.on("close", () => socket.destroy());
  };
  const makeServer = (): Server => (tls ? createSecureServer(tls, join) : createPlainServer(join));
  const listen = (server: Server, port: number): Promise<void> =>
    new Promise((resolve) => server.listen(port, "127.0.0.1", resolve));
  let server = makeServer();
  await listen(server, 0);
  const { port } = server.address() as AddressInfo;
  return {
    address: `tcp://127.0.0.1:${port}`,
    loseAnswerTo: (text) => void (doomed = text),
    async reopen() {
      server = makeServer();
      server.unref();
      await listen(server, port);
    },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
