import { readFile } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { parse } from "yaml";
import { messageOf, RolloutError, systemCodeOf } from "../../../base/rollout-error.ts";
import { describeUnknown } from "../../../base/suggest.ts";
import { kubeConfigSchema, type KubeConfig, type KubeConfigUser } from "./kube-config-schema.ts";

/** One context of a kubeconfig with what it names; paths are absolute. */
export interface KubeContext {
  readonly name: string;
  readonly namespace: string | undefined;
  readonly server: string;
  readonly ca: string | Buffer | null;
  readonly isVerified: boolean;
  readonly serverName: string | null;
  readonly user: KubeConfigUser;
  /** Paths of the user are relative to it. */
  readonly directory: string;
}

/** Reads a context from kubeconfig files, the first that defines something wins; rejects with `config_invalid`. */
export async function readKubeContext(files: readonly string[], wanted: string | undefined): Promise<KubeContext> {
  const read = (await Promise.all(files.map(readOne))).filter((entry) => entry !== null);
  const where = files.join(", ");
  if (read.length === 0) throw invalid(`there is no kubeconfig at ${where}`);
  const name = wanted ?? read.map(({ config }) => config["current-context"]).find((current) => current);
  if (name === undefined) throw invalid(`${where} has no current context; name one in provider_config.context`);
  const context = findNamed(read, "contexts", name);
  if (context === null) {
    const known = read.flatMap(({ config }) => (config.contexts ?? []).map((entry) => entry.name));
    throw invalid(`${where}: ${describeUnknown(`context ${JSON.stringify(name)}`, name, known)}`);
  }
  const { cluster: clusterName, user: userName, namespace } = context.entry.context;
  const cluster = findNamed(read, "clusters", clusterName);
  if (cluster === null) throw invalid(`${where}: the context ${name} names the cluster ${clusterName}, which it lacks`);
  const user = userName === undefined ? null : findNamed(read, "users", userName);
  const { cluster: found } = cluster.entry;
  const data = found["certificate-authority-data"];
  const file = found["certificate-authority"];
  return {
    name,
    namespace,
    server: found.server,
    ca: data ? Buffer.from(data, "base64") : file ? await readFile(resolve(cluster.directory, file)) : null,
    isVerified: found["insecure-skip-tls-verify"] !== true,
    serverName: found["tls-server-name"] ?? null,
    user: user?.entry.user ?? {},
    directory: user?.directory ?? cluster.directory,
  };
}

interface ReadFile {
  readonly directory: string;
  readonly config: KubeConfig;
}

async function readOne(file: string): Promise<ReadFile | null> {
  try {
    const config = kubeConfigSchema.parse(parse(await readFile(file, "utf8")) ?? {});
    return { directory: dirname(resolve(file)), config };
  } catch (error) {
    if (systemCodeOf(error) === "ENOENT") return null;
    throw invalid(`${file} cannot be read as a kubeconfig: ${messageOf(error)}`, error);
  }
}

function findNamed<K extends "clusters" | "users" | "contexts">(
  read: readonly ReadFile[],
  kind: K,
  name: string,
): { readonly entry: NonNullable<KubeConfig[K]>[number]; readonly directory: string } | null {
  for (const { config, directory } of read) {
    const entries: readonly NonNullable<KubeConfig[K]>[number][] = config[kind] ?? [];
    const entry = entries.find((one) => one.name === name);
    if (entry !== undefined) return { entry, directory };
  }
  return null;
}

function invalid(message: string, cause?: unknown): RolloutError {
  return new RolloutError("config_invalid", message, { cause });
}
