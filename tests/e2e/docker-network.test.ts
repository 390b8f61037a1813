import { execFile } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { networkInterfaces, release } from "node:os";
import { promisify } from "node:util";
import { expect, onTestFinished, test, type TestContext } from "vitest";
import { makeDockerRoom, plainTask, type DockerRoom } from "./docker-rig.ts";
import { cannotRun } from "./rollout-cli.ts";

const run = promisify(execFile);
const never = new AbortController().signal;
const get = `get() { local at=\${http_proxy#http://}; exec 3<>"/dev/tcp/\${at%:*}/\${at#*:}" &&
  printf 'GET http://%s/ HTTP/1.0\\r\\n\\r\\n' "$1" >&3 && timeout 20 cat <&3; }`;

function needRoot(context: TestContext): void {
  if (process.getuid?.() !== 0) cannotRun(context, "a list of allowed hosts needs root");
}

/** Says a word on an address of this machine that is not the loopback's; gives `address:port`. */
async function serve(context: TestContext): Promise<string> {
  const all = Object.values(networkInterfaces()).flatMap((list) => list ?? []);
  const here = all.find(({ family, internal }) => family === "IPv4" && !internal)?.address;
  const server = createServer((_request, response) => response.end("the word\n"));
  server.listen(0, here ?? cannotRun(context, "this machine has no address beside the loopback's"));
  await once(server, "listening");
  onTestFinished(() => void server.close());
  return `${here}:${(server.address() as AddressInfo).port}`;
}

/** The marks of the networks that a process of ours has made. */
async function marksOf({ engine }: DockerRoom, pid: number): Promise<string[]> {
  const query = { filters: JSON.stringify({ label: [`rollout.owner-pid=${pid}`, "rollout.network"] }) };
  type Row = { readonly Labels: Readonly<Record<string, string>> };
  const rows = await engine.client.json<Row[]>({ method: "GET", path: "/networks", query, signal: never });
  return rows.map(({ Labels }) => Labels["rollout.network"] ?? "");
}

async function rulesOf(mark: string): Promise<string[]> {
  const { stdout } = await run("iptables", ["-w", "30", "-S"]);
  return stdout.split("\n").filter((line) => line.includes(mark));
}

test("agent and tests have each their own list, and what was refused is a warning of the trial", async (context) => {
  needRoot(context);
  const room = await makeDockerRoom(context);
  const [ours, theirs] = [await serve(context), await serve(context)];
  const execute = `${get}; get ${ours}; get ${theirs}; get ${theirs}; get evil.test:80; mkdir -p /app; touch /app/done`;
  const task = {
    ...plainTask,
    test: `${get}\nget ${theirs} | grep 'the word' && get ${ours} | grep 403 && ${plainTask.test}`,
  };
  const network = { agent: { allow: [ours] }, verifier: { allow: [theirs] } };
  const environment = { type: "docker", network };
  await room.writeDockerJob({ a: task, b: task }, { environment, agents: [{ name: "agent", execute }] });
  const running = room.startJob();
  const { code, stderr } = await running.ended;
  expect(code, stderr).toBe(0);
  for (const name of ["a", "b"]) {
    expect(await room.trial(`agent/tasks/${name}__1`)).toMatchObject({
      reward: 1,
      error: null,
      warnings: [
        `the agent asked for ${theirs}, which is not allowed`,
        "the agent asked for evil.test:80, which is not allowed",
        `the verifier asked for ${ours}, which is not allowed`,
      ],
    });
    const said = await room.read(`jobs/job/agent/tasks/${name}__1/command/stdout.txt`);
    expect(said).toContain("the word");
    expect(said).toContain(`${theirs} is not allowed by environment.network`);
  }
  expect(await marksOf(room, running.pid)).toEqual([]);
});

test("a separate verifier has its own policy from its start", async (context) => {
  needRoot(context);
  const room = await makeDockerRoom(context);
  const host = await serve(context);
  const environment = { type: "docker", network: { agent: "none", verifier: { allow: [host] } } };
  const task = { ...plainTask, test: `${get}\nget ${host} | grep 'the word' && echo 1 > /logs/verifier/reward.txt` };
  await room.writeDockerJob({ a: task }, { environment, verifier: { environment: "separate", paths: ["/app"] } });
  const { code, stderr } = await room.runJob();
  expect(code, stderr).toBe(0);
  expect(await room.trial("oracle/tasks/a__1")).toMatchObject({ reward: 1, warnings: [] });
});

test("SIGKILL leaves a network and rules, which the next job removes", async (context) => {
  needRoot(context);
  const room = await makeDockerRoom(context);
  const environment = { type: "docker", network: { agent: { allow: ["example.test"] }, verifier: "none" } };
  await room.writeDockerJob({ a: { ...plainTask, solution: "echo begun; sleep 600" } }, { environment });
  const running = room.startJob();
  const file = "jobs/job/oracle/tasks/a__1/command/stdout.txt";
  await running.until("it has begun", async () => (await room.read(file).catch(() => "")).includes("begun"));
  const [mark = ""] = await marksOf(room, running.pid);
  expect((await rulesOf(mark)).length).toBeGreaterThan(3);
  running.kill("SIGKILL");
  await running.ended;
  expect(await marksOf(room, running.pid)).toEqual([mark]);

  await room.writeDockerJob({ a: plainTask }, { name: "next" });
  const { code, stderr } = await room.runJob();
  expect(code, stderr).toBe(0);
  expect(await marksOf(room, running.pid)).toEqual([]);
  expect(await rulesOf(mark)).toEqual([]);
  expect(await room.containersOf(running.pid)).toEqual([]);
});

test("an engine of another machine cannot keep a list, which is an error before the start", async (context) => {
  needRoot(context);
  const room = await makeDockerRoom(context);
  // As one whose socket is forwarded.
  const socket = room.path("far.sock");
  const answers = { "/info": { Name: "elsewhere", KernelVersion: release() }, "/version": { ApiVersion: "1.41" } };
  const far = createServer(({ url = "" }, response) => {
    const found = Object.entries(answers).find(([path]) => url.endsWith(path));
    response.end(found ? JSON.stringify(found[1]) : "OK");
  });
  far.listen(socket);
  await once(far, "listening");
  onTestFinished(() => void far.close());
  const environment = { type: "docker", network: { agent: { allow: ["example.test"] } } };
  await room.writeDockerJob({ a: plainTask }, { environment });
  for (const address of [`unix://${socket}`, "tcp://127.0.0.1:9"]) {
    const { code, stderr } = await room.startWith({ DOCKER_HOST: address }).ended;
    expect(code).toBe(2);
    expect(stderr).toContain('environment "docker" cannot enforce "allow"; it can: full, none');
  }
  expect(await room.files(".")).not.toContainEqual(expect.stringContaining("jobs/"));
});
