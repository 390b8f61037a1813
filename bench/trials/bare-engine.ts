import { Agent, request, type RequestOptions } from "node:http";
import { makeArchives, type Archives } from "./make-archives.ts";

/** Trials on a Docker engine, with the calls that none can do without. */
export interface BareEngine {
  readonly description: string;
  run(trials: number, inFlight: number): Promise<void>;
}

interface Image {
  readonly Id: string;
  readonly RepoTags: readonly string[] | null;
  readonly Size: number;
}

export interface BareEngineOptions {
  /** A folder for what is packed. */
  readonly directory: string;
  readonly taskDirectory: string;
  /** The smallest one that is there when absent. */
  readonly image?: string;
}

/** The engine at DOCKER_HOST or the usual socket, or why there is none. */
export async function openBareEngine({
  directory,
  taskDirectory,
  image: wanted,
}: BareEngineOptions): Promise<BareEngine | string> {
  const host = process.env["DOCKER_HOST"] || "unix:///var/run/docker.sock";
  const { protocol, hostname, port, pathname } = new URL(host);
  const agent = new Agent({ keepAlive: true });
  const place: RequestOptions =
    protocol === "unix:" ? { agent, socketPath: pathname } : { agent, host: hostname, port };
  const call = async (method: string, path: string, body?: Buffer | object): Promise<Buffer> => {
    const isArchive = Buffer.isBuffer(body);
    const content = body === undefined || isArchive ? body : Buffer.from(JSON.stringify(body));
    const type = isArchive ? "application/x-tar" : "application/json";
    const headers = { Host: "docker", "Content-Type": type, "Content-Length": content?.length ?? 0 };
    return send({ ...place, method, path, headers }, content);
  };
  try {
    const { Version: version } = JSON.parse(String(await call("GET", "/version"))) as { Version: string };
    const images = JSON.parse(String(await call("GET", "/images/json"))) as readonly Image[];
    // What was built for a task may be removed by whoever built it.
    const lasting = images.filter(({ RepoTags: tags }) => !tags?.some((tag) => tag.startsWith("rollout-")));
    const fitting = wanted === undefined ? lasting : images.filter(({ RepoTags: tags }) => tags?.includes(wanted));
    const image = fitting.toSorted((a, b) => a.Size - b.Size)[0];
    if (image === undefined) return `the engine at ${host} has no image${wanted === undefined ? "" : ` ${wanted}`}`;
    const archives = makeArchives(directory, taskDirectory);
    await runTrial(call, image.Id, archives);
    return {
      description: `Docker ${version}, ${wanted ?? image.RepoTags?.[0] ?? image.Id}`,
      async run(trials, inFlight) {
        let next = 0;
        const work = async (): Promise<void> => {
          while (next++ < trials) await runTrial(call, image.Id, archives);
        };
        await Promise.all(Array.from({ length: inFlight }, work));
      },
    };
  } catch (error) {
    return `no engine answers at ${host}: ${error instanceof Error ? error.message : String(error)}`;
  }
}

// The same container as ours: its limits, an init, no log of its own.
const settings = {
  CpuPeriod: 100_000,
  CpuQuota: 100_000,
  Memory: 2e9,
  MemorySwap: 2e9,
  Init: true,
  LogConfig: { Type: "none" },
};

type Call = (method: string, path: string, body?: Buffer | object) => Promise<Buffer>;

async function runTrial(call: Call, image: string, archives: Archives): Promise<void> {
  const created = { Image: image, Entrypoint: ["sleep"], Cmd: ["infinity"], WorkingDir: "/app", HostConfig: settings };
  const { Id: id } = JSON.parse(String(await call("POST", "/containers/create", created))) as { Id: string };
  try {
    await call("POST", `/containers/${id}/start`);
    await call("PUT", `/containers/${id}/archive?path=/`, archives.solution);
    await exec(call, id, ["bash", "/oracle/solve.sh"]);
    await call("PUT", `/containers/${id}/archive?path=/`, archives.tests);
    await exec(call, id, ["bash", "/tests/test.sh"]);
    await call("POST", `/containers/${id}/pause`);
    const logs = await call("GET", `/containers/${id}/archive?path=/logs`);
    if (!logs.includes("1\n")) throw new Error("the trial on the engine got no reward");
  } finally {
    await call("DELETE", `/containers/${id}?force=true&v=true`);
  }
}

async function exec(call: Call, container: string, command: readonly string[]): Promise<void> {
  const planned = { AttachStdout: true, AttachStderr: true, Cmd: command };
  const { Id: id } = JSON.parse(String(await call("POST", `/containers/${container}/exec`, planned))) as { Id: string };
  const output = await call("POST", `/exec/${id}/start`, { Detach: false, Tty: false });
  const { ExitCode: code } = JSON.parse(String(await call("GET", `/exec/${id}/json`))) as { ExitCode: number };
  if (code !== 0) throw new Error(`${command.join(" ")} ended with ${code}: ${output.toString("utf8")}`);
}

function send(options: RequestOptions, body: Buffer | undefined): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const asked = request(options, (response) => {
      const chunks: Buffer[] = [];
      response.on("data", (chunk: Buffer) => chunks.push(chunk));
      response.once("error", reject);
      response.once("end", () => {
        const answer = Buffer.concat(chunks);
        if ((response.statusCode ?? 500) < 400) resolve(answer);
        else reject(new Error(`${options.method} ${options.path}: ${response.statusCode} ${answer.toString("utf8")}`));
      });
    });
    asked.once("error", reject);
    asked.end(body);
  });
}
