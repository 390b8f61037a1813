import { readFileSync, writeFileSync } from "node:fs";
import { connect, createServer, type AddressInfo, type Socket } from "node:net";
import { parse, stringify } from "yaml";

/** A way to a cluster's API server that can be cut. */
export interface CuttableWay extends AsyncDisposable {
  /** A kubeconfig that leads over it. */
  readonly kubeconfig: string;
  /** Connections that are open. */
  count(): number;
  /** Cuts every connection; new ones can be made. */
  cut(): void;
  /** Lets nobody through until it is opened again. */
  close(): void;
  open(): void;
}

interface KubeConfigFile {
  readonly clusters: { readonly cluster: Record<string, string> }[];
}

/** Opens a port of this machine that leads to the API server of a kubeconfig. */
export async function openCuttableWay(kubeconfig: string, copy: string): Promise<CuttableWay> {
  const config = parse(readFileSync(kubeconfig, "utf8")) as KubeConfigFile;
  const [{ cluster }] = config.clusters as [KubeConfigFile["clusters"][number]];
  const { hostname, port } = new URL(cluster["server"] ?? "");
  const sockets = new Set<Socket>();
  let isOpen = true;
  const server = createServer((socket) => {
    if (!isOpen) {
      socket.destroy();
      return;
    }
    const far = connect(Number(port), hostname);
    for (const end of [socket, far]) {
      sockets.add(end);
      end.on("error", () => {});
      end.on("close", () => sockets.delete(end));
    }
    socket.pipe(far).pipe(socket);
    socket.on("close", () => far.destroy());
    far.on("close", () => socket.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  cluster["server"] = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
  cluster["tls-server-name"] = hostname;
  writeFileSync(copy, stringify(config));
  const cut = (): void => sockets.forEach((socket) => socket.destroy());
  return {
    kubeconfig: copy,
    count: () => sockets.size / 2,
    cut,
    close() {
      isOpen = false;
      cut();
    },
    open: () => void (isOpen = true),
    async [Symbol.asyncDispose]() {
      cut();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
