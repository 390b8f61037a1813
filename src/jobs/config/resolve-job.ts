import { resolve } from "node:path";
import { parseQuantity } from "../../base/quantity.ts";
import type { Secret } from "../../base/redactor.ts";
import { datasetName } from "./check-job.ts";
import { expandTree } from "./expand-env.ts";
import type { Agent, DatasetRef, Job, JobEnvironment, JobVerifier } from "./job.ts";
import type { JobFile } from "./job-schema.ts";

type Path = readonly (string | number)[];

export interface ResolveOptions {
  readonly file: string | null;
  readonly baseDir: string;
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly isConcurrencyChosen: boolean;
  readonly placeOf: Job["placeOf"];
}

/** A variable that is not set and has no default. */
export interface MissingVariable {
  readonly path: Path;
  readonly name: string;
}

/** Turns a checked job file into a job with nothing left open. */
export function resolveJob(
  source: JobFile,
  options: ResolveOptions,
): { readonly job: Job; readonly missing: readonly MissingVariable[] } {
  const file = absolutePaths(source, options);
  const expander = createExpander(options.env);
  const { max_attempts, initial_delay_ms, max_delay_ms, multiplier } = file.retry;
  const job: Job = {
    file: options.file,
    baseDir: options.baseDir,
    name: file.name ?? null,
    jobsDir: file.jobs_dir,
    nAttempts: file.n_attempts,
    nConcurrentTrials: file.n_concurrent_trials,
    isConcurrencyChosen: options.isConcurrencyChosen,
    timeoutMultiplier: file.timeout_multiplier,
    retry: {
      maxAttempts: max_attempts,
      initialDelayMs: initial_delay_ms,
      maxDelayMs: max_delay_ms,
      multiplier,
    },
    logLevel: file.log_level,
    instructionPath: file.instruction_path,
    // Two halves of at least one byte each.
    outputLimitBytes: Math.max(2, bytesOf(file.output_limit) ?? 0),
    logsLimitBytes: bytesOf(file.logs_limit) ?? 0,
    environment: toEnvironment(file.environment, expander),
    verifier: toVerifier(file.verifier, expander),
    metrics: [...new Set(file.metrics.map((metric) => metric.type))],
    agents: file.agents.map((agent, index) => toAgent(agent, index, expander)),
    datasets: file.datasets.map((dataset) => toDatasetRef(dataset, options.baseDir)),
    budget: {
      costUsd: file.budget.cost_usd ?? null,
      wallSec: file.budget.wall_sec ?? null,
      tokens: file.budget.tokens ?? null,
    },
    document: withoutSchema(file),
    secrets: expander.secrets(),
    placeOf: options.placeOf,
  };
  return { job, missing: expander.missing };
}

/** Expands variables and remembers what was missing and what must stay secret. */
interface Expander {
  expand<T>(value: T, path: Path): T;
  readonly missing: readonly MissingVariable[];
  secrets(): Secret[];
}

function createExpander(env: ResolveOptions["env"]): Expander {
  const missing: MissingVariable[] = [];
  const secrets = new Map<string, Secret>();
  return {
    expand<T>(value: T, path: Path): T {
      const expansion = expandTree(value, env, path);
      missing.push(...expansion.missing);
      for (const secret of expansion.secrets) secrets.set(`${secret.name}\0${secret.value}`, secret);
      return expansion.value as T;
    },
    missing,
    secrets: () => [...secrets.values()],
  };
}

function toAgent(agent: JobFile["agents"][number], index: number, expander: Expander): Agent {
  return {
    name: agent.name,
    description: agent.description ?? null,
    install: agent.install === undefined || agent.install.trim() === "" ? null : agent.install,
    execute: agent.execute ?? null,
    env: expander.expand(agent.env, ["agents", index, "env"]),
    nConcurrent: agent.n_concurrent ?? null,
    isCached: agent.cache,
  };
}

function toEnvironment(environment: JobFile["environment"], expander: Expander): JobEnvironment {
  return {
    type: environment.type,
    forceBuild: environment.force_build,
    preserveEnv: environment.preserve_env,
    providerConfig: expander.expand(environment.provider_config, ["environment", "provider_config"]),
    overrideCpus: quantityOf(environment.override_cpus),
    overrideMemoryBytes: bytesOf(environment.override_memory),
    overrideStorageBytes: bytesOf(environment.override_storage),
    network: { agent: environment.network.agent ?? "full", verifier: environment.network.verifier ?? "full" },
    networkSetFor: (["agent", "verifier"] as const).filter((phase) => environment.network[phase] !== undefined),
    pidsLimit: environment.pids_limit ?? null,
  };
}

function toVerifier(verifier: JobFile["verifier"], expander: Expander): JobVerifier {
  return {
    overrideTimeoutSec: verifier.override_timeout_sec || null,
    maxTimeoutSec: verifier.max_timeout_sec || null,
    disable: verifier.disable,
    leftovers: verifier.leftovers ?? null,
    nonzeroExit: verifier.nonzero_exit ?? null,
    environment: verifier.environment ?? null,
    paths: verifier.paths ?? null,
    env: expander.expand(verifier.env, ["verifier", "env"]),
  };
}

// config.json is read on its own later, so nothing in it may depend on where the job file stood.
function absolutePaths(file: JobFile, { baseDir, cwd }: ResolveOptions): JobFile {
  const type = file.environment.type;
  return {
    ...file,
    jobs_dir: resolve(cwd, file.jobs_dir),
    environment: { ...file.environment, type: /^\.{0,2}\//.test(type) ? resolve(baseDir, type) : type },
    datasets: file.datasets.map((dataset) => ({
      ...dataset,
      ...(dataset.path === undefined ? {} : { path: resolve(baseDir, dataset.path) }),
      ...(dataset.tasks === undefined ? {} : { tasks: dataset.tasks.map((task) => resolve(baseDir, task)) }),
      ...(dataset.registry?.path === undefined ? {} : { registry: { path: resolve(baseDir, dataset.registry.path) } }),
    })),
  };
}

function toDatasetRef(dataset: JobFile["datasets"][number], baseDir: string): DatasetRef {
  const name = datasetName(dataset, baseDir) ?? "";
  const nConcurrent = dataset.n_concurrent ?? null;
  if (dataset.tasks) return { kind: "tasks", paths: dataset.tasks, name, nConcurrent };
  if (dataset.path !== undefined) return { kind: "path", path: dataset.path, name, nConcurrent };
  const { path, url } = dataset.registry ?? {};
  const registry = path === undefined ? { url: url ?? "" } : { path };
  return { kind: "registry", registry, name, version: dataset.version ?? null, nConcurrent };
}

function withoutSchema(file: JobFile): Record<string, unknown> {
  const { $schema: _schema, ...rest } = file;
  return rest;
}

function quantityOf(value: string | number | undefined): number | null {
  return value === undefined ? null : (parseQuantity(String(value)) ?? null);
}

// Quantities may be fractions (0.1Gi); nothing has a part of a byte.
function bytesOf(value: string | number | undefined): number | null {
  const bytes = quantityOf(value);
  return bytes === null ? null : Math.round(bytes);
}
