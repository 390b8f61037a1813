import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Host } from "../../../base/host.ts";
import { RolloutError, systemCodeOf } from "../../../base/rollout-error.ts";
import { dockerConfigDir, readDockerConfig, readStoredContext } from "../../images/docker-config-file.ts";
import type { EndpointTls, EngineEndpoint } from "./engine-endpoint.ts";

const defaultSocket = "/var/run/docker.sock";

/** Where the docker command would look for its engine; rejects with `provider_unavailable` when what it is told makes no sense. */
export async function findEngine(host: Pick<Host, "env" | "home">): Promise<EngineEndpoint> {
  const { env } = host;
  if (env["DOCKER_HOST"]) return parseAddress(env["DOCKER_HOST"], "DOCKER_HOST", await readEnvironmentTls(host));
  const directory = dockerConfigDir(host);
  const name = env["DOCKER_CONTEXT"] || (await readDockerConfig(directory)).currentContext;
  if (name === undefined || name === "" || name === "default") {
    return { kind: "unix", socketPath: defaultSocket, origin: "the default socket" };
  }
  const context = await readStoredContext(directory, name);
  const tls = await readTls(context.tlsDir, !context.skipsVerification);
  return parseAddress(context.host, `the Docker context "${name}"`, tls);
}

/** An address as `DOCKER_HOST` has it. */
function parseAddress(address: string, origin: string, tls: EndpointTls | null): EngineEndpoint {
  const [, scheme = "", rest = ""] = /^([a-z]+):\/\/(.+)$/.exec(address) ?? [];
  if (scheme === "unix") return { kind: "unix", socketPath: rest, origin };
  if (scheme === "tcp" || scheme === "http" || scheme === "https") {
    const url = URL.parse(`http://${rest}`);
    if (url === null || url.hostname === "") throw badAddress(address, origin);
    const isEncrypted = tls !== null || scheme === "https";
    const port = url.port === "" ? (isEncrypted ? 2376 : 2375) : Number(url.port);
    const plain = { ca: null, cert: null, key: null, isVerified: true };
    return { kind: "tcp", host: url.hostname, port, tls: isEncrypted ? (tls ?? plain) : null, origin };
  }
  if (scheme === "ssh") return parseSsh(address, origin);
  throw badAddress(address, origin);
}

function parseSsh(address: string, origin: string): EngineEndpoint {
  const url = URL.parse(address);
  // A name that starts with a dash would be an option of ssh.
  if (
    url === null ||
    url.hostname === "" ||
    url.hostname.startsWith("-") ||
    url.username.startsWith("-") ||
    url.password !== ""
  )
    throw badAddress(address, origin);
  const user = url.username === "" ? [] : ["-l", decodeURIComponent(url.username)];
  const port = url.port === "" ? [] : ["-p", url.port];
  const socket = url.pathname.length > 1 ? ["--host", `unix://${url.pathname}`] : [];
  const args = [...user, ...port, "--", url.hostname, "docker", ...socket, "system", "dial-stdio"];
  const destination = `${url.username === "" ? "" : `${url.username}@`}${url.host}`;
  return { kind: "ssh", destination, args: ["-o", "ConnectTimeout=30", "-T", ...args], origin };
}

function badAddress(address: string, origin: string): RolloutError {
  return new RolloutError("provider_unavailable", `${origin} names "${address}", which is no address of an engine`, {
    hint: "use unix:///path/to/socket, tcp://host:port or ssh://user@host",
  });
}

async function readEnvironmentTls(host: Pick<Host, "env" | "home">): Promise<EndpointTls | null> {
  const { env } = host;
  const isVerified = Boolean(env["DOCKER_TLS_VERIFY"]);
  if (!isVerified && !env["DOCKER_TLS"]) return null;
  const found = await readTls(env["DOCKER_CERT_PATH"] || dockerConfigDir(host), isVerified);
  return found ?? { ca: null, cert: null, key: null, isVerified };
}

async function readTls(directory: string, isVerified: boolean): Promise<EndpointTls | null> {
  const names = ["ca.pem", "cert.pem", "key.pem"];
  const [ca = null, cert = null, key = null] = await Promise.all(names.map((name) => readIfAny(join(directory, name))));
  return ca === null && cert === null && key === null ? null : { ca, cert, key, isVerified };
}

async function readIfAny(file: string): Promise<string | null> {
  try {
    return await readFile(file, "utf8");
  } catch (error) {
    if (systemCodeOf(error) === "ENOENT" || systemCodeOf(error) === "ENOTDIR") return null;
    throw new RolloutError("provider_unavailable", `cannot read ${file}`, { cause: error });
  }
}
