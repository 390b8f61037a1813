import { spawn } from "node:child_process";
import type { Host } from "../../base/host.ts";
import { messageOf, RolloutError } from "../../base/rollout-error.ts";
import { dockerConfigDir, readDockerConfig, type DockerConfigFile, type StoredAuth } from "./docker-config-file.ts";

/** What proves to a registry who asks. */
export interface RegistryAuth {
  readonly username?: string | undefined;
  readonly password?: string | undefined;
  readonly identityToken?: string | undefined;
  readonly serverAddress: string;
}

const dockerHub = "https://index.docker.io/v1/";
const dockerHubNames: readonly string[] = ["docker.io", "index.docker.io", "registry-1.docker.io"];

/** The registry that a reference names, as settings have it. */
export function registryOf(reference: string): string {
  const [first = "", ...rest] = reference.split("/");
  const isHost = rest.length > 0 && (first.includes(".") || first.includes(":") || first === "localhost");
  return isHost ? serverOf(first) : dockerHub;
}

function serverOf(host: string): string {
  return dockerHubNames.includes(host) ? dockerHub : host;
}

/** The credentials that the docker command would use for a registry's host; null when it has none. */
export async function findRegistryAuth(host: Host, server: string, signal: AbortSignal): Promise<RegistryAuth | null> {
  const config = await readDockerConfig(dockerConfigDir(host));
  const address = serverOf(server);
  const helper = helperFor(config, address);
  if (helper !== undefined) return askHelper(helper, address, host, signal);
  const stored = storedFor(config, address);
  return stored === undefined ? null : readStored(stored, address);
}

/** Every credential that is stored, by registry, for builders that want them beforehand. */
export async function readAllAuth(host: Host, signal: AbortSignal): Promise<Record<string, RegistryAuth>> {
  const config = await readDockerConfig(dockerConfigDir(host));
  const servers = new Set([...Object.keys(config.auths ?? {}), ...Object.keys(config.credHelpers ?? {})]);
  const found: Record<string, RegistryAuth> = {};
  for (const server of servers) {
    const auth = await findRegistryAuth(host, server, signal);
    if (auth) found[server] = auth;
  }
  return found;
}

function bare(server: string): string {
  return server.replace(/^https?:\/\//, "").replace(/\/.*$/, "");
}

function helperFor({ credHelpers, credsStore }: DockerConfigFile, address: string): string | undefined {
  const entry = Object.entries(credHelpers ?? {}).find(([server]) => bare(server) === bare(address));
  return entry?.[1] || credsStore || undefined;
}

function storedFor({ auths }: DockerConfigFile, address: string): StoredAuth | undefined {
  if (auths?.[address]) return auths[address];
  return Object.entries(auths ?? {}).find(([server]) => bare(server) === bare(address))?.[1];
}

function readStored(stored: StoredAuth, serverAddress: string): RegistryAuth | null {
  const decoded = Buffer.from(stored.auth ?? "", "base64").toString("utf8");
  const colon = decoded.indexOf(":");
  const username = stored.username ?? (colon === -1 ? undefined : decoded.slice(0, colon));
  const password = stored.password ?? (colon === -1 ? undefined : decoded.slice(colon + 1).replace(/\0+$/, ""));
  if (username === undefined && stored.identitytoken === undefined) return null;
  return { username, password, identityToken: stored.identitytoken || undefined, serverAddress };
}

// A helper reads the registry from its input and answers in JSON; one that knows nothing fails and says so.
async function askHelper(name: string, address: string, host: Host, signal: AbortSignal): Promise<RegistryAuth | null> {
  const program = `docker-credential-${name}`;
  const { code, output } = await runHelper(program, address, host, signal).catch((error: unknown) => {
    signal.throwIfAborted();
    throw new RolloutError("image_pull_failed", `the credential helper ${program} cannot be run: ${messageOf(error)}`, {
      hint: "install it, or take it out of the docker command's config.json",
      cause: error,
    });
  });
  if (code !== 0) return null;
  try {
    const { Username, Secret } = JSON.parse(output) as { Username?: string; Secret?: string };
    if (Username === "<token>") return { identityToken: Secret, serverAddress: address };
    return { username: Username, password: Secret, serverAddress: address };
  } catch (error) {
    throw new RolloutError("image_pull_failed", `the credential helper ${program} answered no JSON`, { cause: error });
  }
}

function runHelper(
  program: string,
  input: string,
  host: Host,
  signal: AbortSignal,
): Promise<{ code: number | null; output: string }> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, ["get"], { env: { ...host.env }, stdio: ["pipe", "pipe", "ignore"], signal });
    let output = "";
    child.stdout.on("data", (chunk: Buffer) => (output += chunk.toString("utf8")));
    child.stdin.on("error", () => {});
    child.on("error", reject);
    child.on("close", (code) => resolve({ code, output }));
    child.stdin.end(`${input}\n`);
  });
}

/** Credentials as the engine takes them in a header. */
export function encodeAuth(auth: RegistryAuth): string {
  return encode(wireAuth(auth));
}

/** Credentials of several registries as the classic builder takes them in a header. */
export function encodeAllAuth(auths: Readonly<Record<string, RegistryAuth>>): string {
  const wire = Object.fromEntries(Object.entries(auths).map(([server, auth]) => [server, wireAuth(auth)]));
  return encode(wire);
}

// With padding, which engines want and Node's own form lacks.
function encode(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString("base64").replaceAll("+", "-").replaceAll("/", "_");
}

function wireAuth({ username, password, identityToken, serverAddress }: RegistryAuth): Record<string, unknown> {
  return { username, password, identitytoken: identityToken, serveraddress: serverAddress };
}
