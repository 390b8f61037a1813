import { connect, createServer, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { onTestFinished } from "vitest";
import { readHost } from "../../src/base/host.ts";
import { addressOf } from "../../src/environments/docker/connection/engine-endpoint.ts";
import { findEngine } from "../../src/environments/docker/connection/find-engine.ts";

/** What passes on the way to an engine. */
export interface EngineMoment {
  /** `asked` before the engine has a request, `answered` before we have what it answers. */
  readonly kind: "asked" | "answered";
  /** Such as `DELETE /v1.41/containers/…`. */
  readonly line: string;
  /** The name under which the container that it speaks of was created, where that is known. */
  readonly container: string | null;
}

export type EngineFate = "pass" | "cut" | "hold" | "refuse" | { readonly lateMs: number };

/** A way to this machine's engine that can be looked at and cut. */
export interface WatchedEngine {
  readonly address: string;
  /** Is called for all that passes and says what becomes of it: it may also be cut off, held back for good, or answered
   * with a refusal that the engine knows nothing of. An answer may also come late. */
  watch(look: (moment: EngineMoment) => EngineFate): void;
  /** Ends every connection there is; new ones work. */
  cut(): void;
  /** Resolves when the engine has nothing left to answer. */
  settled(): Promise<void>;
}

const words = JSON.stringify({ message: "the engine is out of sorts" });
const refusal = `HTTP/1.1 500 Internal Server Error\r\ncontent-type: application/json\r\ncontent-length: ${words.length}\r\n\r\n${words}`;

/** Opens a socket at a path that leads to this machine's engine. */
export async function openWatchedEngine(path: string): Promise<WatchedEngine> {
  const endpoint = await findEngine(readHost(process));
  if (endpoint.kind !== "unix") throw new Error(`the tests need an engine behind a socket, not ${addressOf(endpoint)}`);
  const names = new Map<string, string>();
  const pending = new Map<Socket, string>();
  const clients = new Set<Socket>();
  let look: (moment: EngineMoment) => EngineFate = () => "pass";
  const server = createServer((client) => {
    const engine = connect(endpoint.socketPath);
    clients.add(client);
    for (const end of [client, engine]) end.on("error", () => {});
    // What follows a late answer on the same connection comes after it.
    let onTheWay: Promise<unknown> = Promise.resolve();
    const pass = (kind: EngineMoment["kind"], line: string): boolean => {
      const fate = look({ kind, line, container: containerOf(line, names) });
      if (fate === "cut") for (const end of [client, engine]) end.destroy();
      if (fate === "refuse") client.write(refusal);
      if (typeof fate === "object") onTheWay = onTheWay.then(() => sleep(fate.lateMs));
      return fate === "pass" || typeof fate === "object";
    };
    client.on("data", (chunk) => {
      const [line] = /^(?:GET|HEAD|PUT|POST|DELETE) \S+/.exec(chunk.toString("latin1", 0, 1000)) ?? [];
      if (line !== undefined) pending.set(engine, line);
      if (line === undefined || pass("asked", line)) engine.write(chunk);
    });
    engine.on("data", (chunk) => {
      const line = pending.get(engine);
      pending.delete(engine);
      if (line !== undefined) rememberName(names, line, chunk);
      if (line === undefined || pass("answered", line)) onTheWay = onTheWay.then(() => client.write(chunk));
    });
    // What the engine has begun it ends, also when nobody waits for it.
    client.on("close", () => {
      clients.delete(client);
      if (pending.has(engine)) engine.end();
      else engine.destroy();
    });
    engine.on("close", () => {
      pending.delete(engine);
      void onTheWay.then(() => client.destroy());
    });
  });
  await new Promise<void>((resolve) => server.listen(path, resolve));
  onTestFinished(() => void server.close());
  return {
    address: `unix://${path}`,
    watch: (given) => void (look = given),
    cut: () => clients.forEach((client) => client.destroy()),
    async settled() {
      while (pending.size > 0) await new Promise((resolve) => setTimeout(resolve, 20));
    },
  };
}

function rememberName(names: Map<string, string>, line: string, answer: Buffer): void {
  const name = nameOf(line);
  const [, id] = /"Id":"([0-9a-f]{64})"/.exec(answer.toString("latin1")) ?? [];
  if (name !== null && id !== undefined) names.set(id, name);
}

function containerOf(line: string, names: ReadonlyMap<string, string>): string | null {
  const [, id = ""] = /\/containers\/([0-9a-f]{64})/.exec(line) ?? [];
  return names.get(id) ?? nameOf(line);
}

function nameOf(line: string): string | null {
  return /^POST \S*\/containers\/create\?\S*name=([\w-]+)/.exec(line)?.[1] ?? null;
}
