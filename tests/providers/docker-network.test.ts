import { randomUUID } from "node:crypto";
import { execFile } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { hostname, networkInterfaces } from "node:os";
import { promisify } from "node:util";
import { describe, expect, onTestFinished, test, type TestContext } from "vitest";
import { systemClock } from "../../src/base/clock.ts";
import { removeNetwork } from "../../src/environments/docker/network/networks.ts";
import type { Environment, EnvironmentProvider } from "../../src/environments/environment.ts";
import { cannotRun } from "../e2e/rollout-cli.ts";
import { findEngines } from "../engines/find-engines.ts";
import { openTestEngine } from "../engines/open-test-engine.ts";
import { openRoom, type EngineRoom } from "./docker/engine-room.ts";

const never = new AbortController().signal;
const run = promisify(execFile);
const docker = (await findEngines()).find(({ name }) => name === "docker");

/** A room on an engine that can keep a list of allowed hosts, or the end of the test with the reason. */
async function openAllowing(context: TestContext, config: Record<string, unknown> = {}): Promise<EngineRoom> {
  if (!docker || docker.reason !== null) cannotRun(context, docker?.reason ?? "there is no Docker engine");
  const room = await openRoom(docker.env, config);
  const notes = await room.provider.probe(never);
  if (!room.provider.capabilities.network.includes("allow")) cannotRun(context, notes.join("; "));
  return room;
}

/** An address of this machine that is reached from outside. */
function ownAddress(context: TestContext): string {
  const entries = Object.entries(networkInterfaces()).flatMap(([name, list]) =>
    /^(docker|br-|cni|rollout|veth)/.test(name) ? [] : (list ?? []),
  );
  const found = entries.find(({ family, internal }) => family === "IPv4" && !internal);
  return found?.address ?? cannotRun(context, "this machine has no address beside the loopback's");
}

/** A server on every address of this machine, which says the word and echoes what it is sent. */
async function serve(word: string): Promise<number> {
  const server = createServer((request, response) => {
    response.write(`${word} ${request.method} ${request.url} ${request.headers.host} `);
    request.pipe(response);
  });
  server.listen(0, "0.0.0.0");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

// The image has no client beside bash's own.
const clients = `
dial() { exec 3<>"/dev/tcp/$1/$2"; }
proxy() { local at=\${http_proxy#http://}; dial "\${at%:*}" "\${at#*:}"; }
get() { proxy && printf 'GET http://%s/ HTTP/1.1\\r\\nHost: elsewhere\\r\\nConnection: close\\r\\n\\r\\n' "$1" >&3 && timeout 20 cat <&3; }
tunnel() { proxy && printf 'CONNECT %s HTTP/1.1\\r\\nHost: %s\\r\\n\\r\\nGET /inside HTTP/1.0\\r\\n\\r\\n' "$1" "$1" >&3 && timeout 20 cat <&3; }
# Root's own way to a host: a route over the gateway, as "ip route add" makes it.
route() { perl -MSocket -e 'my ($to, $by) = map { pack("S n a4 x8", 2, 0, inet_aton($_)) } @ARGV; socket(my $s, 2, 2, 0);
  my $all = pack("S n a4 x8", 2, 0, inet_aton("255.255.255.255"));
  print ioctl($s, 0x890B, pack("x8 a16 a16 a16 S x62", $to, $by, $all, 7)) ? "routed\n" : "no route: $!\n"' "$1" "$2"; }
direct() { timeout 5 bash -c "echo > /dev/tcp/$1/$2" 2>/dev/null && echo reached || echo out of reach; }
`;

async function outputOf({ run: runIn }: EngineRoom, environment: Environment, script: string): Promise<string> {
  const { stdout, stderr } = await runIn(environment, `${clients}${script}`);
  return `${stdout.toString()}${stderr.toString()}`;
}

async function rulesOf(mark: string): Promise<string[]> {
  const { stdout } = await run("iptables", ["-w", "30", "-S"]);
  return stdout.split("\n").filter((line) => line.includes(mark));
}

/** Networks of this process: their marks. */
async function networkMarks(): Promise<string[]> {
  const engine = await openTestEngine(docker?.env ?? {});
  const label = [`rollout.owner-pid=${process.pid}`, `rollout.owner-host=${hostname()}`, "rollout.network"];
  const query = { filters: JSON.stringify({ label }) };
  const rows = await engine.client.json<{ Labels: Record<string, string> }[]>({
    method: "GET",
    path: "/networks",
    query,
    signal: never,
  });
  engine.client[Symbol.dispose]();
  return rows.map(({ Labels }) => Labels["rollout.network"] ?? "");
}

describe("no network on docker", () => {
  test("it holds in every network a container was in, for what runs already, and against root; then all come back", async (context) => {
    if (!docker || docker.reason !== null) cannotRun(context, docker?.reason ?? "there is no Docker engine");
    const names = [await makeNetwork(), await makeNetwork()];
    const room = await openRoom(docker.env, { network: names[0], cap_add: ["NET_ADMIN"] });
    const here = ownAddress(context);
    const port = await serve("here");
    const environment = await room.create();
    const engine = await openTestEngine(docker.env);
    onTestFinished(() => engine.client[Symbol.dispose]());
    const joining = { path: `/networks/${names[1]}/connect`, json: { Container: environment.id }, signal: never };
    await engine.client.text({ method: "POST", ...joining });
    const ask = (script: string): Promise<string> => outputOf(room, environment, script);
    const devices = "tail -n +3 /proc/net/dev | cut -d: -f1 | tr -d ' ' | wc -l";
    expect(await ask(`direct ${here} ${port}; ${devices}`)).toBe("reached\n3\n");
    await ask(`(while sleep 0.2; do direct ${here} ${port}; done >>/said 2>&1) & sleep 1; grep -c reached /said`);
    await environment.setNetwork("none", never);
    expect(await ask(`: > /said; sleep 2; sort -u /said; ${devices}`)).toBe("out of reach\n1\n");
    expect(await ask(`route ${here} 172.17.0.1; direct ${here} ${port}`)).toMatch(/^no route: .*\nout of reach\n$/);
    await environment.setNetwork("full", never);
    expect(await ask(`direct ${here} ${port}; ${devices}`)).toBe("reached\n3\n");
  });
});

/** A network of the engine that is gone after the test. */
async function makeNetwork(): Promise<string> {
  const engine = await openTestEngine(docker?.env ?? {});
  const Name = `test-${randomUUID()}`;
  await engine.client.text({ method: "POST", path: "/networks/create", json: { Name }, signal: never });
  onTestFinished(async () => {
    await removeNetwork({ engine, clock: systemClock }, Name, never);
    engine.client[Symbol.dispose]();
  });
  return Name;
}

describe("a list of allowed hosts on docker", () => {
  test("what it names is reached through the proxy, plainly and in a tunnel, and nothing else", async (context) => {
    const room = await openAllowing(context);
    const here = ownAddress(context);
    const [open, closed] = [await serve("open"), await serve("closed")];
    const environment = await room.create();
    await environment.setNetwork({ allow: [`${here}:${open}`, "*.example.test"] }, never);
    const ask = (script: string): Promise<string> => outputOf(room, environment, script);

    expect(await ask(`get ${here}:${open}`)).toContain(`open GET / ${here}:${open}`);
    expect(await ask(`tunnel ${here}:${open}`)).toMatch(/200 Connection established[^]*open GET \/inside/);
    for (const way of ["get", "tunnel"]) {
      expect(await ask(`${way} ${here}:${closed}`)).toContain(`403 Forbidden`);
      expect(await ask(`${way} 127.0.0.1:${open}`)).toContain(`127.0.0.1:${open} is not allowed`);
      expect(await ask(`${way} example.test:443`)).toContain("example.test:443 is not allowed");
    }
    expect(environment.takeRefused?.()).toEqual([`${here}:${closed}`, `127.0.0.1:${open}`, "example.test:443"]);
    expect(environment.takeRefused?.()).toEqual([]);
  });

  test("without the proxy nothing is reached: not this machine, its other ports, a neighbour or the world", async (context) => {
    const room = await openAllowing(context, { cap_add: ["NET_ADMIN"] });
    const here = ownAddress(context);
    const open = await serve("open");
    const [environment, neighbour] = [await room.create(), await room.create()];
    const allow = [`${here}:${open}`];
    await environment.setNetwork({ allow }, never);
    await neighbour.setNetwork({ allow }, never);
    const gateway = /\/\/([\d.]+):/.exec(await outputOf(room, environment, "echo $http_proxy"))?.[1] ?? "";
    const other = (await outputOf(room, neighbour, "hostname -i")).trim().split(" ").at(-1) ?? "";
    expect(other).toMatch(/^[\d.]+$/);
    const listening = room.run(
      neighbour,
      "perl -MIO::Socket -e 'my $s=IO::Socket::INET->new(LocalPort=>7777,Listen=>5) or die; sleep 60'",
    );
    listening.catch(() => {});
    expect(await outputOf(room, neighbour, "sleep 1; direct 127.0.0.1 7777")).toBe("reached\n");
    const tries = [`${here} ${open}`, `${gateway} ${open}`, `${other} 7777`, "172.17.0.1 " + open, "198.51.100.1 80"];
    expect(await outputOf(room, environment, `route ${here} ${gateway}`)).toBe("routed\n");
    for (const target of tries)
      expect(await outputOf(room, environment, `direct ${target}`), target).toBe("out of reach\n");
    expect(await outputOf(room, environment, `get ${here}:${open}`)).toContain("open GET");
  });

  test("each container has its own list, and it can be changed both ways while processes run", async (context) => {
    const room = await openAllowing(context);
    const here = ownAddress(context);
    const [one, two] = [await serve("one"), await serve("two")];
    const [environment, neighbour] = [await room.create(), await room.create()];
    const ask = (script: string): Promise<string> => outputOf(room, environment, script);
    await environment.setNetwork({ allow: [`${here}:${one}`] }, never);
    await neighbour.setNetwork({ allow: [`${here}:${two}`] }, never);
    expect(await ask(`get ${here}:${two}`)).toContain("403");
    expect(await outputOf(room, neighbour, `get ${here}:${two}`)).toContain("two GET");
    expect(await networkMarks()).toHaveLength(1);
    // It was opened under the list of before.
    await ask(
      `(proxy; printf 'CONNECT ${here}:${one} HTTP/1.1\\r\\n\\r\\n' >&3; cat <&3 >/held; echo ended >>/held) >/dev/null 2>&1 & sleep 1`,
    );
    await environment.setNetwork({ allow: [`${here}:${two}`] }, never);
    expect(await ask("sleep 1; cat /held")).toMatch(/200[^]*ended/);
    expect(await ask(`get ${here}:${one}`)).toContain("403");
    expect(await ask(`get ${here}:${two}`)).toContain("two GET");
    await environment.setNetwork("full", never);
    expect(await ask(`direct ${here} ${one}; echo "proxy: $http_proxy"`)).toBe("reached\nproxy: \n");
    await environment.setNetwork("none", never);
    expect(await ask(`direct ${here} ${one}; ls /sys/class/net`)).toBe("out of reach\nlo\n");
    await environment.setNetwork({ allow: [`${here}:${one}`] }, never);
    expect(await ask(`get ${here}:${one}`)).toContain("one GET");
  });

  test("nothing of it is left when the provider is closed, and a kept container can be entered", async (context) => {
    const room = await openAllowing(context);
    const environment = await room.create();
    await environment.setNetwork({ allow: ["example.test"] }, never);
    const [mark = ""] = await networkMarks();
    expect((await rulesOf(mark)).length).toBeGreaterThan(3);
    await environment.stop(never);
    await room.provider[Symbol.asyncDispose]();
    expect(await networkMarks()).toEqual([]);
    expect(await rulesOf(mark)).toEqual([]);
    const engine = await openTestEngine(docker?.env ?? {});
    await engine.client.text({ method: "POST", path: `/containers/${environment.id}/start`, signal: never });
    await engine.client.text({
      method: "DELETE",
      path: `/containers/${environment.id}`,
      query: { force: true },
      signal: never,
    });
    engine.client[Symbol.dispose]();
  });

  test("rules that somebody took away stand again before the next container joins", async (context) => {
    const room = await openAllowing(context);
    const here = ownAddress(context);
    const port = await serve("open");
    await (await room.create()).setNetwork({ allow: ["example.test"] }, never);
    const [mark = ""] = await networkMarks();
    await run("iptables", ["-w", "30", "-D", "INPUT", "-i", `rollout${mark}`, "-j", `ROLLOUT-${mark}`]);
    const environment = await room.create();
    await environment.setNetwork({ allow: ["example.test"] }, never);
    expect(await outputOf(room, environment, `direct ${here} ${port}`)).toBe("out of reach\n");
  });
});

test("where a list cannot be enforced it is not offered, and the probe says why", async (context) => {
  if (!docker || docker.reason !== null) cannotRun(context, docker?.reason ?? "there is no Docker engine");
  const offered = async (provider: EnvironmentProvider): Promise<string> => {
    const before = provider.capabilities.network.join();
    const notes = await provider.probe(never);
    return `${before} | ${provider.capabilities.network.join()} | ${notes.filter((note) => note.includes("allow:")).join()}`;
  };
  const stranger = (await openRoom(docker.env, {}, 1000)).provider;
  expect(await offered(stranger)).toBe("none | none | environment.network with allow: rollout has to run as root");
  const { provider } = await openRoom(docker.env, { network: "host" });
  await provider.probe(never);
  expect(provider.capabilities.network).toEqual([]);
});
