import { once } from "node:events";
import { createServer, request, type IncomingMessage } from "node:http";
import { connect, createServer as createTcpServer, type AddressInfo, type Server, type Socket } from "node:net";
import { buffer, text } from "node:stream/consumers";
import { expect, onTestFinished, test } from "vitest";
import { parseAllowedHost } from "../../../base/allowed-hosts.ts";
import { systemClock } from "../../../base/clock.ts";
import { EgressProxy } from "./egress-proxy.ts";

async function listen(server: Server): Promise<number> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
}

/** A server that tells what it was asked, and gives back what it was sent. */
function echo(): Promise<number> {
  const server = createServer((asked, answer) => {
    answer.setHeader("X-Seen", JSON.stringify([asked.method, asked.url, asked.headers]));
    answer.setHeader("Set-Cookie", ["a=1", "b=2"]);
    answer.statusCode = 201;
    asked.pipe(answer);
  });
  return listen(server);
}

interface Door {
  readonly proxy: EgressProxy;
  readonly refused: string[];
  admit(...entries: string[]): void;
}

async function openDoor(): Promise<Door> {
  const proxy = await EgressProxy.open("127.0.0.1", systemClock);
  onTestFinished(() => proxy[Symbol.asyncDispose]());
  const refused: string[] = [];
  const admit = (...entries: string[]): void => {
    const allowed = entries.flatMap((entry) => parseAllowedHost(entry) ?? []);
    proxy.admit({ address: "127.0.0.1", allowed, onRefused: (target) => void refused.push(target) });
  };
  return { proxy, refused, admit };
}

async function ask(
  { proxy }: Door,
  options: { path: string; method?: string; headers?: Record<string, string>; body?: Buffer },
): Promise<{ answer: IncomingMessage; body: Buffer }> {
  const { body, ...rest } = options;
  const asking = request({ host: "127.0.0.1", port: proxy.port, agent: false, ...rest });
  asking.end(body);
  const [answer] = (await once(asking, "response")) as [IncomingMessage];
  return { answer, body: await buffer(answer) };
}

async function tunnel({ proxy }: Door, target: string): Promise<{ answer: IncomingMessage; socket: Socket }> {
  const asking = request({ host: "127.0.0.1", port: proxy.port, method: "CONNECT", path: target, agent: false });
  asking.end();
  const [answer, socket] = (await once(asking, "connect")) as [IncomingMessage, Socket];
  onTestFinished(() => void socket.destroy());
  return { answer, socket };
}

test("a plain request is passed on with its body, under the name that was checked", async () => {
  const door = await openDoor();
  const port = await echo();
  door.admit(`127.0.0.1:${port}`);
  const body = Buffer.alloc(3_000_000, "x");
  const headers = {
    Host: "elsewhere",
    "X-Kept": "yes",
    "X-Hop": "no",
    Connection: "x-hop",
    "Proxy-Authorization": "s",
  };
  const path = `http://127.0.0.1:${port}/a?b=c`;
  const { answer, body: back } = await ask(door, { path, method: "POST", headers, body });
  expect(answer.statusCode).toBe(201);
  expect(answer.headers["set-cookie"]).toEqual(["a=1", "b=2"]);
  expect(back.equals(body)).toBe(true);
  const [method, url, seen] = JSON.parse(String(answer.headers["x-seen"])) as [string, string, Record<string, string>];
  expect([method, url, seen["host"], seen["x-kept"]]).toEqual(["POST", "/a?b=c", `127.0.0.1:${port}`, "yes"]);
  expect(Object.keys(seen)).not.toContain("x-hop");
  expect(Object.keys(seen)).not.toContain("proxy-authorization");
  const chunked = await ask(door, { path, method: "PUT", headers: { "Transfer-Encoding": "chunked" }, body });
  expect(chunked.body.equals(body)).toBe(true);
});

test("a tunnel carries bytes both ways, and the end of one way leaves the other open", async () => {
  const door = await openDoor();
  const server = createTcpServer({ allowHalfOpen: true }, (socket) => {
    void buffer(socket).then((sent) => socket.end(`${sent.length} bytes`));
  });
  const port = await listen(server);
  door.admit("127.0.0.1");
  const { answer, socket } = await tunnel(door, `127.0.0.1:${port}`);
  expect(answer.statusCode).toBe(200);
  socket.end(Buffer.alloc(5_000_000));
  expect(await text(socket)).toBe("5000000 bytes");
});

test("what is not allowed is refused with the reason and told, whatever the way", async () => {
  const door = await openDoor();
  const port = await echo();
  door.admit("allowed.test");
  const plain = await ask(door, { path: `http://127.0.0.1:${port}/` });
  expect([plain.answer.statusCode, plain.body.toString()]).toEqual([
    403,
    `127.0.0.1:${port} is not allowed by environment.network\n`,
  ]);
  const { answer } = await tunnel(door, "evil.test:443");
  expect(answer.statusCode).toBe(403);
  expect(door.refused).toEqual([`127.0.0.1:${port}`, "evil.test:443"]);
});

test.each(["/", "ftp://127.0.0.1/", "https://127.0.0.1/"])("%s is no request for a proxy", async (path) => {
  const door = await openDoor();
  door.admit("127.0.0.1");
  expect((await ask(door, { path })).answer.statusCode).toBe(400);
});

test("a host that cannot be reached is a bad gateway", async () => {
  const door = await openDoor();
  const server = createTcpServer();
  const port = await listen(server);
  server.close();
  await once(server, "close");
  door.admit("127.0.0.1");
  expect((await ask(door, { path: `http://127.0.0.1:${port}/` })).answer.statusCode).toBe(502);
  expect((await tunnel(door, `127.0.0.1:${port}`)).answer.statusCode).toBe(502);
  expect(door.refused).toEqual([]);
});

test("whoever was not admitted, or is dismissed, is cut off", async () => {
  const door = await openDoor();
  const port = await echo();
  await expect(ask(door, { path: `http://127.0.0.1:${port}/` })).rejects.toThrow();
  door.admit("127.0.0.1");
  const { socket } = await tunnel(door, `127.0.0.1:${port}`);
  const ended = new Promise((resolve) => socket.on("error", () => {}).on("close", resolve));
  door.proxy.dismiss("127.0.0.1");
  await ended;
  await expect(ask(door, { path: `http://127.0.0.1:${port}/` })).rejects.toThrow();
});

test.each([
  "HTTP/1.1 000 Odd\r\n\r\n",
  "HTTP/1.1 99 Odd\r\n\r\n",
  "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\nabc",
  "HTTP/1.1 200 OK\r\nX-Odd: a\0b\r\nContent-Length: 0\r\n\r\n",
  "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, odd\r\nContent-Length: 3\r\n\r\nabc",
  "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nabc",
  "no answer at all",
  "",
])("a server that answers %j does not end the proxy", async (words) => {
  const door = await openDoor();
  const server = createTcpServer((socket) => socket.on("error", () => {}).end(words));
  const [odd, good] = [await listen(server), await echo()];
  door.admit("127.0.0.1");
  const settled = await ask(door, { path: `http://127.0.0.1:${odd}/` }).catch(() => null);
  expect([null, 200, 502]).toContain(settled && settled.answer.statusCode);
  expect((await ask(door, { path: `http://127.0.0.1:${good}/` })).answer.statusCode).toBe(201);
});

test("noise and clients that vanish do not end the proxy", async () => {
  const door = await openDoor();
  const port = await echo();
  door.admit("127.0.0.1");
  for (const noise of ["\0\x01\x02\r\n\r\n", `GET ${"x".repeat(100_000)}`, "CONNECT : HTTP/1.1\r\n\r\n", ""]) {
    const socket = connect(door.proxy.port, "127.0.0.1");
    socket.on("error", () => {});
    await once(socket, "connect");
    socket.write(noise);
    socket.resetAndDestroy();
  }
  const { socket } = await tunnel(door, `127.0.0.1:${port}`);
  socket.write("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\nabc");
  socket.resetAndDestroy();
  expect((await ask(door, { path: `http://127.0.0.1:${port}/` })).answer.statusCode).toBe(201);
});
