import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { FakeClock } from "../../../base/testing/fake-clock.ts";
import { EngineClient } from "./engine-client.ts";
import { wrapEngineError } from "./engine-error.ts";

const never = new AbortController().signal;

async function openClient(
  answer: (request: IncomingMessage, response: ServerResponse) => void,
): Promise<{ readonly client: EngineClient; readonly clock: FakeClock }> {
  const dir = mkdtempSync(join(tmpdir(), "rollout-engine-"));
  const socketPath = join(dir, "engine.sock");
  const server = createServer(answer);
  await new Promise<void>((resolve) => server.listen(socketPath, resolve));
  const clock = new FakeClock();
  const client = new EngineClient({ kind: "unix", socketPath, origin: "the test" }, { env: {} }, clock);
  onTestFinished(() => {
    client[Symbol.dispose]();
    server.closeAllConnections();
    server.close();
    rmSync(dir, { recursive: true, force: true });
  });
  return { client, clock };
}

test("an engine that never answers is given up, as trouble that may pass", async () => {
  const asked = Promise.withResolvers<void>();
  const { client, clock } = await openClient(() => asked.resolve());
  const answer = client.text({ method: "GET", path: "/info", signal: never });
  answer.catch(() => {});
  await asked.promise;
  await clock.advance(120_001);
  const error = await answer.catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ status: null, message: "the engine did not answer within 120 seconds" });
  expect(wrapEngineError(error, "exec_failed", "asking")).toMatchObject({ code: "exec_failed", transient: true });
  expect(clock.pendingTimers).toBe(0);
});

test("whoever asked can stop waiting, and gets his own reason", async () => {
  const asked = Promise.withResolvers<void>();
  const { client } = await openClient(() => asked.resolve());
  const stop = new AbortController();
  const answer = client.json({ method: "GET", path: "/info", signal: stop.signal });
  answer.catch(() => {});
  await asked.promise;
  const reason = new Error("enough");
  stop.abort(reason);
  await expect(answer).rejects.toBe(reason);
});

test("every path carries the version that was agreed on, and a refusal its status and words", async () => {
  const { client } = await openClient((request, response) => {
    response.writeHead(409, { "content-type": "application/json" });
    response.end(JSON.stringify({ message: `no ${request.url}` }));
  });
  client.versionPrefix = "/v1.41";
  const query = { path: "/a b", all: undefined };
  await expect(client.text({ method: "GET", path: "/containers/json", query, signal: never })).rejects.toMatchObject({
    status: 409,
    message: "no /v1.41/containers/json?path=%2Fa+b",
  });
});

test("a connection that died while nobody used it is made again for what changes nothing", async () => {
  let count = 0;
  const { client } = await openClient((request, response) => {
    if (++count === 2) request.socket.destroy();
    else response.end("{}");
  });
  const ask = (method: "GET" | "POST"): Promise<unknown> => client.json({ method, path: "/x", signal: never });
  await ask("GET");
  await expect(ask("GET")).resolves.toEqual({});
  expect(count).toBe(3);
  count = 1;
  await expect(ask("POST")).rejects.toMatchObject({ status: null });
});
