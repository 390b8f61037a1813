import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as fc from "fast-check";
import { describe, expect, onTestFinished, test } from "vitest";
import { systemClock } from "../../base/clock.ts";
import { formatProblem } from "../../base/problem.ts";
import { RolloutError } from "../../base/rollout-error.ts";
import { FakeClock } from "../../base/testing/fake-clock.ts";
import { findDataset } from "./find-dataset.ts";
import { parseRegistry } from "./parse-registry.ts";
import { readRegistry } from "./read-registry.ts";

const options = { signal: new AbortController().signal, clock: systemClock };
const task = { name: "a", git_url: "https://example.com/x.git", path: "a" };
const registry = [{ name: "set", version: "1.0", description: "A set.", tasks: [task], extra: true }];
const expected = [
  {
    name: "set",
    version: "1.0",
    description: "A set.",
    tasks: [{ name: "a", gitUrl: "https://example.com/x.git", gitCommitId: null, path: "a" }],
  },
];

async function makeTempDir(): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), "rollout-tasks-"));
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  return directory;
}

async function startServer(
  answer: (request: IncomingMessage, response: ServerResponse) => void,
): Promise<AsyncDisposable & { url: string; requests: IncomingMessage[] }> {
  const requests: IncomingMessage[] = [];
  const server = createServer((request, response) => {
    requests.push(request);
    answer(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/registry.json`,
    requests,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

async function failureOf(reading: Promise<unknown>): Promise<RolloutError> {
  const error = await reading.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof RolloutError)) throw new Error(`expected a RolloutError, got ${String(error)}`);
  return error;
}

describe("a file", () => {
  async function writeRegistry(text: string): Promise<string> {
    const directory = await makeTempDir();
    await writeFile(join(directory, "registry.json"), text);
    return directory;
  }

  test("it may be a list or an object, named itself or by its directory, with a byte order mark", async () => {
    const directory = await writeRegistry(JSON.stringify(registry));
    expect(await readRegistry({ path: directory }, options)).toEqual(expected);
    expect(await readRegistry({ path: join(directory, "registry.json") }, options)).toEqual(expected);
    const wrapped = await writeRegistry(`\uFEFF${JSON.stringify({ datasets: registry })}`);
    expect(await readRegistry({ path: wrapped }, options)).toEqual(expected);
  });

  test("one that is missing is told", async () => {
    const directory = await makeTempDir();
    const inDirectory = await failureOf(readRegistry({ path: directory }, options));
    expect(inDirectory).toMatchObject({
      code: "config_invalid",
      hint: `${directory} is a directory without a registry.json`,
    });
    expect(await failureOf(readRegistry({ path: `${directory}/x` }, options))).toMatchObject({
      code: "config_invalid",
    });
  });

  test("bad JSON is told with line and column", async () => {
    const directory = await writeRegistry('[\n  {"name": "a",}\n]');
    const error = await failureOf(readRegistry({ path: directory }, options));
    expect(error.problems.map(formatProblem)).toEqual([`${directory}/registry.json:2:16 is not valid JSON`]);
    const short = await failureOf(readRegistry({ path: await writeRegistry("[") }, options));
    expect(short.message).toContain("ends too early");
  });

  test("every wrong entry is told with line and column", async () => {
    const text =
      '{"datasets": [\n  {"name": "", "tasks": [\n    {"name": 3,\n     "git_url": "x"}]},\n  {"name": "b"}\n]}';
    const directory = await writeRegistry(text);
    const error = await failureOf(readRegistry({ path: directory }, options));
    expect(error.code).toBe("config_invalid");
    expect(error.problems.map(formatProblem)).toEqual([
      `${directory}/registry.json:2:4 datasets[0].name: must not be empty`,
      `${directory}/registry.json:3:6 datasets[0].tasks[0].name: must be a string`,
      `${directory}/registry.json:5:3 datasets[1].tasks: must be a list of tasks`,
    ]);
  });
});

describe("a server", () => {
  test("its answer is read, after up to five redirects", async () => {
    await using server = await startServer((request, response) => {
      const step = Number(new URL(request.url ?? "", "http://x").searchParams.get("step") ?? 0);
      if (step < 5) response.writeHead(302, { location: `/registry.json?step=${step + 1}` }).end();
      else response.end(JSON.stringify(registry));
    });
    expect(await readRegistry({ url: server.url }, options)).toEqual(expected);
  });

  test("endless redirects, and those to another scheme or to nowhere, are refused", async () => {
    for (const location of ["/registry.json", "file:///etc/passwd", ""]) {
      await using server = await startServer((_, response) => {
        response.writeHead(302, location === "" ? {} : { location }).end();
      });
      const error = await failureOf(readRegistry({ url: server.url }, options));
      expect(error).toMatchObject({ transient: false, message: expect.stringContaining("redirects") });
      expect(server.requests.length).toBeLessThanOrEqual(6);
    }
  });

  test("errors say what was answered, and only those that may pass are transient", async () => {
    for (const [status, isTransient] of [
      [404, false],
      [403, false],
      [429, true],
      [500, true],
      [503, true],
    ] as const) {
      await using server = await startServer((_, response) => response.writeHead(status).end("no"));
      const error = await failureOf(readRegistry({ url: server.url }, options));
      expect(error).toMatchObject({ code: "registry_failed", transient: isTransient });
      expect(error.message).toContain(`registry ${server.url} answered ${status}`);
      expect(error.hint).toBeDefined();
    }
  });

  test("an answer that is no registry is told with its place", async () => {
    for (const [body, message] of [
      ["<html>", "is not valid JSON"],
      ['{"a": 1}', "must be a list of datasets"],
      ["[1]", "[0]"],
    ] as const) {
      await using server = await startServer((_, response) => response.end(body));
      const error = await failureOf(readRegistry({ url: server.url }, options));
      expect(error).toMatchObject({ code: "registry_failed", transient: false });
      expect(error.message).toContain(message);
      expect(error.message).toContain(server.url);
    }
  });

  test("one that never answers, or stops in the middle, is given up after the limit", async () => {
    for (const isStarted of [false, true]) {
      const arrived = Promise.withResolvers<void>();
      await using server = await startServer((_, response) => {
        if (isStarted) response.write("[");
        arrived.resolve();
      });
      const clock = new FakeClock();
      const reading = failureOf(readRegistry({ url: server.url }, { ...options, clock }));
      await arrived.promise;
      await clock.advance(30_000);
      const error = await reading;
      expect(error).toMatchObject({ code: "registry_failed", transient: true });
      expect(error.message).toContain("did not answer within 30 s");
      expect(clock.pendingTimers).toBe(0);
    }
  });

  test("one that is not there, whose host is unknown, or that hangs up is told", async () => {
    const dead = await failureOf(readRegistry({ url: "http://127.0.0.1:9/registry.json" }, options));
    expect(dead).toMatchObject({ code: "registry_failed", transient: true });
    const unknown = await failureOf(readRegistry({ url: "http://nowhere.invalid/registry.json" }, options));
    expect(unknown.message).toMatch(/nowhere\.invalid.*host is unknown/);
    await using server = await startServer((request) => request.socket.destroy());
    const hungUp = await failureOf(readRegistry({ url: server.url }, options));
    expect(hungUp).toMatchObject({ code: "registry_failed", transient: true });
  });

  test("other schemes are configuration errors", async () => {
    for (const url of ["ftp://example.com/r.json", "file:///etc/passwd", "registry.json"]) {
      expect(await failureOf(readRegistry({ url }, options))).toMatchObject({ code: "config_invalid" });
    }
  });

  test("credentials are sent, not shown, and not given to the host of a redirect", async () => {
    await using stranger = await startServer((_, response) => response.writeHead(404).end());
    await using server = await startServer((_, response) => response.writeHead(302, { location: stranger.url }).end());
    const url = `${server.url.replace("http://", "http://me:hunter2@")}?token=hunter3`;
    const error = await failureOf(readRegistry({ url }, options));
    expect(`${error.message} ${error.hint}`).not.toMatch(/hunter/);
    expect(server.requests[0]?.headers.authorization).toBe(`Basic ${Buffer.from("me:hunter2").toString("base64")}`);
    expect(stranger.requests[0]?.headers.authorization).toBeUndefined();
  });

  test("aborting rejects with the reason", async () => {
    const controller = new AbortController();
    const reason = new Error("enough");
    await using server = await startServer(() => controller.abort(reason));
    await expect(readRegistry({ url: server.url }, { ...options, signal: controller.signal })).rejects.toBe(reason);
  });
});

describe("finding a dataset", () => {
  const make = (name: string, version: string | null) => ({ name, version, description: null, tasks: [] });
  const entries = [
    make("one", "1.0"),
    make("many", "1.0"),
    make("many", "2.0"),
    make("plain", null),
    make("same", "1"),
    make("same", "1"),
  ];
  const failure = (name: string, version: string | null) => {
    try {
      return findDataset(entries, name, version);
    } catch (error) {
      return error;
    }
  };

  test("a version may be left out when there is one", () => {
    expect(findDataset(entries, "one", null)).toBe(entries[0]);
    expect(findDataset(entries, "many", "2.0")).toBe(entries[2]);
    expect(findDataset(entries, "plain", null)).toBe(entries[3]);
  });

  test("otherwise the versions are listed", () => {
    expect(failure("many", null)).toMatchObject({
      code: "config_invalid",
      hint: "set version; its versions are: 1.0, 2.0",
    });
    expect(failure("many", "2.1")).toMatchObject({ hint: 'did you mean "2.0"? its versions are: 1.0, 2.0' });
    expect(failure("same", "1")).toMatchObject({ message: expect.stringContaining("2 times") });
  });

  test("an unknown name is answered with the nearest one and the list", () => {
    expect(failure("mnay", null)).toMatchObject({
      code: "config_invalid",
      hint: 'did you mean "many"? it has: many, one, plain, same',
    });
  });
});

test("no text makes the parser throw", () => {
  fc.assert(
    fc.property(fc.oneof(fc.json(), fc.string()), (text) => {
      parseRegistry(text, "registry.json");
    }),
  );
});
