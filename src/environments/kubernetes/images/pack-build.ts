import { join } from "node:path";
import { readTextIfAny } from "../../archive/build-context.ts";
import { encodeTar } from "../../archive/encode-tar.ts";
import type { TreeEntry } from "../../archive/tree-entry.ts";
import type { BuildImageRequest } from "../../environment.ts";
import { readDockerContext } from "../../images/docker-context.ts";
import { findRegistryAuth, registryOf, type RegistryAuth } from "../../images/registry-auth.ts";
import type { KubernetesConfig } from "../kubernetes-config-schema.ts";
import type { KubernetesGround } from "../kubernetes-ground.ts";
import { planBuildScript } from "./builder-scripts.ts";

export interface PackBuildRequest extends Pick<BuildImageRequest, "plan" | "signal"> {
  readonly ref: string;
  readonly builder: NonNullable<KubernetesConfig["builder"]>;
}

/** What a builder in a Pod is sent, as an archive: the context, the settings of registries and who comes to them. */
export async function* packBuild(
  { config, host }: Pick<KubernetesGround, "config" | "host">,
  { plan, ref, builder, signal }: PackBuildRequest,
): AsyncGenerator<Uint8Array> {
  async function* entries(): AsyncGenerator<TreeEntry> {
    const names = [ref, ...(await readBases(plan.contextDir))].map(registryOf);
    if (builder.secret === undefined) {
      const found = await Promise.all([...new Set(names)].map((name) => findRegistryAuth(host, name, signal)));
      const auths = found.flatMap((auth) => (auth === null ? [] : [[auth.serverAddress, wireAuth(auth)]]));
      yield* textFile("auth/config.json", JSON.stringify({ auths: Object.fromEntries(auths) }));
    }
    // Only that one registry is spoken to without TLS.
    const server = JSON.stringify(ref.split("/")[0]);
    const plain = `[registry.${server}]\n  http = true\n  insecure = true\n`;
    yield* textFile("buildkitd.toml", config.registry_insecure ? plain : "");
    const search = 'unqualified-search-registries = ["docker.io"]\n';
    yield* textFile("registries.conf", `${search}[[registry]]\nlocation = ${server}\ninsecure = true\n`);
    yield* textFile("build", planBuildScript({ ref, plan, config, builder }));
    yield { type: "directory", path: "context", mode: 0o755, uid: 0, gid: 0 };
    for await (const entry of readDockerContext(plan.contextDir, signal)) {
      const path = `context/${entry.path}`;
      // A hard link names its other place from the root of the archive.
      yield entry.type === "hardlink"
        ? { ...entry, path, linkTarget: `context/${entry.linkTarget}` }
        : { ...entry, path };
    }
  }
  yield* encodeTar(entries());
}

// The images that a Dockerfile names; one that a variable names is pulled as nobody.
async function readBases(contextDir: string): Promise<string[]> {
  const text = (await readTextIfAny(join(contextDir, "Dockerfile"))) ?? "";
  return [...text.matchAll(/^\s*FROM\s+(?:--\S+\s+)*([^\s$]+)/gim)].map(([, image = ""]) => image);
}

function wireAuth({ username = "", password = "", identityToken }: RegistryAuth): Record<string, string> {
  if (identityToken !== undefined) return { identitytoken: identityToken };
  return { auth: Buffer.from(`${username}:${password}`).toString("base64") };
}

function* textFile(path: string, text: string): Generator<TreeEntry> {
  const bytes = Buffer.from(text);
  yield { type: "file", path, mode: 0o600, uid: 0, gid: 0, size: bytes.length, body: [bytes] };
}
