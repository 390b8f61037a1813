import { readFileSync } from "node:fs";
import { stat } from "node:fs/promises";
import { createRequire, findPackageJSON } from "node:module";
import { dirname, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { messageOf, RolloutError, systemCodeOf } from "../base/rollout-error.ts";
import { suggest } from "../base/suggest.ts";
import type { ProviderModule } from "./environment.ts";

const builtIn: Readonly<Record<string, () => Promise<ProviderModule>>> = {
  memory: async () => (await import("./memory/memory-provider.ts")).memoryProviderModule,
  local: async () => (await import("./local/local-provider.ts")).localProviderModule,
  docker: async () => (await import("./docker/docker-provider.ts")).dockerProviderModule,
  kubernetes: async () => (await import("./kubernetes/kubernetes-provider.ts")).kubernetesProviderModule,
};

/** Other names that people use. */
const aliases: Readonly<Record<string, string>> = { k8s: "kubernetes" };

const hint =
  "environment.type is a built-in name, a path (./my-provider.ts) or a package that exports `providerModule`";

/** The names of the providers that come with us. */
export function knownProviderNames(): readonly string[] {
  return Object.keys(builtIn);
}

/** The provider that a job's `environment.type` names; rejects with `config_invalid` when it cannot be had. */
export async function loadProviderModule(type: string, baseDir: string): Promise<ProviderModule> {
  const name = Object.hasOwn(aliases, type) ? (aliases[type] ?? type) : type;
  const load = Object.hasOwn(builtIn, name) ? builtIn[name] : undefined;
  if (load) return load();
  const file = /^\.{0,2}\//.test(type) ? await findFile(type, baseDir) : findPackage(type, baseDir);
  let loaded: { readonly providerModule?: unknown };
  try {
    loaded = await import(pathToFileURL(file).href);
  } catch (error) {
    throw new RolloutError("config_invalid", `the environment type "${type}" cannot be loaded: ${messageOf(error)}`, {
      hint,
      cause: error,
    });
  }
  if (!isProviderModule(loaded.providerModule)) {
    throw new RolloutError("config_invalid", `${file} exports no \`providerModule\` with name, configSchema and open`, {
      hint,
    });
  }
  return loaded.providerModule;
}

/** A config that was accepted, or the problems it has. */
async function findFile(type: string, baseDir: string): Promise<string> {
  const file = resolve(baseDir, type);
  const isFile = await stat(file).then(
    (stats) => stats.isFile(),
    () => false,
  );
  if (!isFile) throw new RolloutError("config_invalid", `the environment type "${type}" is no file: ${file}`, { hint });
  return file;
}

function findPackage(type: string, baseDir: string): string {
  const from = join(baseDir, "job.js");
  try {
    return createRequire(from).resolve(type);
  } catch (error) {
    const entry = systemCodeOf(error) === "ERR_PACKAGE_PATH_NOT_EXPORTED" ? findImportEntry(type, from) : undefined;
    if (entry !== undefined) return entry;
    throw unknownTypeError(type, error);
  }
}

// `require` does not see a package that exports to `import` only.
function findImportEntry(type: string, from: string): string | undefined {
  const file = findPackageJSON(type, pathToFileURL(from));
  if (file === undefined) return undefined;
  const { exports } = JSON.parse(readFileSync(file, "utf8")) as { exports?: Record<string, unknown> };
  const root = exports?.["."] ?? exports;
  const entry = typeof root === "object" && root !== null && "import" in root ? root.import : undefined;
  return typeof entry === "string" ? join(dirname(file), entry) : undefined;
}

function unknownTypeError(type: string, cause: unknown): RolloutError {
  const near = suggest(type, knownProviderNames());
  const question = near === undefined ? "" : `; did you mean "${near}"?`;
  const message = `unknown environment type "${type}"${question} (known: ${knownProviderNames().join(", ")})`;
  return new RolloutError("config_invalid", message, { hint, cause });
}

function isProviderModule(value: unknown): value is ProviderModule {
  if (typeof value !== "object" || value === null) return false;
  const { name, configSchema, open } = value as Partial<ProviderModule>;
  return (
    typeof name === "string" &&
    typeof open === "function" &&
    typeof configSchema?.["~standard"]?.validate === "function"
  );
}
