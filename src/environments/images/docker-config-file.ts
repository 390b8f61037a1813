import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Host } from "../../base/host.ts";
import { messageOf, RolloutError, systemCodeOf } from "../../base/rollout-error.ts";

/** What we read of the docker command's own `config.json`. */
export interface DockerConfigFile {
  readonly currentContext?: string | undefined;
  readonly auths?: Readonly<Record<string, StoredAuth>> | undefined;
  readonly credsStore?: string | undefined;
  readonly credHelpers?: Readonly<Record<string, string>> | undefined;
}

export interface StoredAuth {
  readonly auth?: string | undefined;
  readonly username?: string | undefined;
  readonly password?: string | undefined;
  readonly identitytoken?: string | undefined;
  readonly registrytoken?: string | undefined;
}

/** The folder of the docker command's settings. */
export function dockerConfigDir(host: Pick<Host, "env" | "home">): string {
  return host.env["DOCKER_CONFIG"] || join(host.home, ".docker");
}

/** The docker command's settings; empty when there are none. Rejects with `provider_unavailable` when they are broken. */
export async function readDockerConfig(directory: string): Promise<DockerConfigFile> {
  return (await readJson(join(directory, "config.json"))) ?? {};
}

/** A context as the docker command stores it. */
export interface StoredContext {
  readonly host: string;
  readonly skipsVerification: boolean;
  /** Where its certificates are; the folder may not exist. */
  readonly tlsDir: string;
}

/** The stored context of that name; rejects with `provider_unavailable` when there is none. */
export async function readStoredContext(directory: string, name: string): Promise<StoredContext> {
  const id = createHash("sha256").update(name).digest("hex");
  const meta = await readJson(join(directory, "contexts", "meta", id, "meta.json"));
  const { Endpoints } = (meta ?? {}) as { Endpoints?: { docker?: { Host?: string; SkipTLSVerify?: boolean } } };
  const endpoint = Endpoints?.docker;
  if (typeof endpoint?.Host !== "string") {
    throw new RolloutError("provider_unavailable", `the Docker context "${name}" does not exist or names no host`, {
      hint: "see `docker context ls`, or set DOCKER_HOST",
    });
  }
  return {
    host: endpoint.Host,
    skipsVerification: endpoint.SkipTLSVerify === true,
    tlsDir: join(directory, "contexts", "tls", id, "docker"),
  };
}

async function readJson(file: string): Promise<object | null> {
  let text: string;
  try {
    text = await readFile(file, "utf8");
  } catch (error) {
    const code = systemCodeOf(error);
    if (code === "ENOENT" || code === "ENOTDIR") return null;
    throw new RolloutError("provider_unavailable", `cannot read ${file}: ${messageOf(error)}`, { cause: error });
  }
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null) return value;
  } catch (error) {
    throw new RolloutError("provider_unavailable", `${file} is not valid JSON: ${messageOf(error)}`, { cause: error });
  }
  throw new RolloutError("provider_unavailable", `${file} holds no JSON object`);
}
