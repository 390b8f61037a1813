import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, test } from "vitest";
import { readStartTicks } from "../../base/process-start.ts";
import { runDataset } from "../run-dataset.ts";
import { testGround } from "../testing/test-ground.ts";
import type { RunConfig } from "../run-config.ts";
import type { ItemWithScores } from "../summary.ts";
import { commandTarget, type CommandTargetOptions } from "./command-target.ts";
import { httpTarget } from "./http-target.ts";
import type { Target } from "./target.ts";

const servers: { close(): void }[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) server.close();
});

async function serve(
  answer: (request: IncomingMessage, body: string, response: ServerResponse) => void,
): Promise<string> {
  const server = createServer((request, response) => {
    let body = "";
    request.on("data", (chunk) => (body += chunk));
    request.on("end", () => answer(request, body, response));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  servers.push({
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}

async function runOne(target: Target, input: unknown, more: Partial<RunConfig> = {}): Promise<ItemWithScores> {
  const summary = await runDataset({ data: [{ id: "i", input: input as string }], target, ...more }, testGround());
  const [item] = summary.results;
  if (item === undefined) throw new Error(summary.error ?? "no result");
  return item;
}

describe("an HTTP endpoint", () => {
  test("gets the input as JSON, and its JSON answer is the output", async () => {
    const url = await serve((request, body, response) => {
      response.setHeader("content-type", "application/json");
      response.end(
        JSON.stringify({ method: request.method, type: request.headers["content-type"], body: JSON.parse(body) }),
      );
    });
    expect((await runOne(httpTarget({ url }), { q: 1 })).output).toEqual({
      method: "POST",
      type: "application/json",
      body: { q: 1 },
    });
  });

  test("what is sent and what is taken can be shaped", async () => {
    const url = await serve((_request, body, response) => response.end(body));
    const target = httpTarget({
      url,
      body: (input) => ({ prompt: input }),
      output: (answer) => JSON.parse(String(answer)).prompt,
    });
    expect((await runOne(target, "hi")).output).toBe("hi");
  });

  test("a status that may pass is tried again, another fails the item with the answer's words", async () => {
    let calls = 0;
    const url = await serve((_request, body, response) => {
      calls++;
      response.statusCode = body === '"bad"' ? 400 : calls < 3 ? 503 : 200;
      response.end("words");
    });
    expect(await runOne(httpTarget({ url }), "ok", { maxRetries: 3, retryDelay: 1 })).toMatchObject({
      output: "words",
      retryCount: 2,
    });
    expect(await runOne(httpTarget({ url }), "bad", { maxRetries: 3, retryDelay: 1 })).toMatchObject({
      error: "127.0.0.1 answered 400: words",
      errorDetails: { status: 400 },
      retryCount: 0,
    });
  });

  test("an endless answer, an answer that is no JSON, and silence fail the item", async () => {
    const url = await serve((_request, body, response) => {
      if (body === '"silent"') return;
      if (body === '"broken"') response.setHeader("content-type", "application/json");
      response.end("x".repeat(100));
    });
    expect((await runOne(httpTarget({ url, maxBytes: 50 }), "big")).error).toContain("more than 50 bytes");
    expect((await runOne(httpTarget({ url }), "broken")).error).toContain("no JSON");
    expect((await runOne(httpTarget({ url }), "silent", { itemTimeout: 50 })).error).toContain("exceeded its limit");
  });

  test("an address that is none is refused at once", () => {
    expect(() => httpTarget({ url: "nowhere" })).toThrow("is no URL");
  });
});

describe("a command", () => {
  const command = (options: CommandTargetOptions): Target => commandTarget(options, process.env);

  test("gets the input on stdin, and its stdout is the output", async () => {
    expect((await runOne(command({ command: "tr a-z A-Z" }), "loud")).output).toBe("LOUD");
    expect((await runOne(command({ command: ["cat"] }), { q: [1] })).output).toEqual({ q: [1] });
    expect((await runOne(command({ command: ["cat"], output: "text" }), { q: 1 })).output).toBe('{"q":1}');
  });

  test("knows its item and its own variables", async () => {
    const target = command({ command: 'echo "$ROLLOUT_ITEM_ID $ROLLOUT_REPEAT $MINE"', env: { MINE: "yes" } });
    expect((await runOne(target, "")).output).toBe("i 1 yes");
  });

  test("that ends with another code than 0, or is not there, fails the item with its last words", async () => {
    expect((await runOne(command({ command: "echo oh no >&2; exit 3" }), "")).error).toBe(
      "it ended with exit code 3: oh no",
    );
    expect((await runOne(command({ command: ["no-such-program"] }), "")).error).toContain("cannot be started");
    expect((await runOne(command({ command: ["echo", "x"], output: "json" }), "")).error).toContain("no JSON");
  });

  test("that does not read its input, or prints too much, does no harm", async () => {
    expect((await runOne(command({ command: "true" }), "x".repeat(1e6))).error).toBeNull();
    expect((await runOne(command({ command: "yes", maxBytes: 1000 }), "")).error).toContain("more than 1000 bytes");
  });

  test("is ended with all it started when its item's time is over, and what it left behind when it ends", async () => {
    const slow = command({ command: "sleep 300 & echo $!; wait" });
    const cut = await runOne(slow, "", { itemTimeout: 300 });
    expect(cut.error).toContain("exceeded its limit");
    const left = await runOne(command({ command: "sleep 300 >/dev/null 2>&1 & echo $!", output: "text" }), "");
    const pid = Number(left.output);
    expect(pid).toBeGreaterThan(1);
    await expect.poll(() => readStartTicks(pid)).toBeNull();
  });
});
