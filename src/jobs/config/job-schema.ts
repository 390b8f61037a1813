import { z } from "zod";
import { parseAllowedHost } from "../../base/allowed-hosts.ts";
import { logLevels } from "../../base/log.ts";
import { parseQuantity } from "../../base/quantity.ts";

const quantity = z
  .union([z.string(), z.number()], { error: "expected a quantity like 500m, 0.5, 2G, 2Gi or 1e9" })
  .refine((value) => (parseQuantity(String(value)) ?? 0) > 0, {
    error: (issue) =>
      `${JSON.stringify(issue.input)} is not a positive quantity; write it like 500m, 0.5, 2G, 2Gi or 1e9`,
  });

const seconds = z.number().min(0);
const count = z.int().min(1);

const envTable = z
  .record(
    z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/, "is not a name a variable can have: letters, digits and _ only"),
    z
      .union([z.string(), z.number(), z.boolean()], { error: "needs a value: a string, a number or a boolean" })
      .transform(String),
  )
  .default({});

const allowedHost = z.string().refine((value) => parseAllowedHost(value) !== null, {
  error:
    "is not a host; write it like example.com, *.example.com, 192.0.2.1, [2001:db8::1], each with or without :port",
});

const networkPolicy = z.union([z.enum(["full", "none"]), z.strictObject({ allow: z.array(allowedHost).min(1) })], {
  error: 'expected "full", "none" or { allow: [hosts] }',
});

const agent = z.strictObject({
  name: z.string().min(1).describe("Name of the agent; `oracle` runs the task's own solution, `nop` does nothing."),
  description: z.string().optional().describe("What the agent is, for people."),
  install: z.string().optional().describe("Bash script that installs the agent in the environment."),
  execute: z.string().optional().describe("Bash script that runs the agent on the task."),
  env: envTable.describe("Variables for install and execute; `${VAR}` and `${VAR:-default}` come from the machine."),
  n_concurrent: count.optional().describe("At most this many trials of this agent at once."),
  cache: z
    .boolean()
    .default(false)
    .describe("Install once per image, script and variables, and start later trials from what that left."),
});

const registryRef = z.strictObject({
  path: z
    .string()
    .min(1)
    .optional()
    .describe("A registry.json, or a directory that holds one; relative to the job file."),
  url: z.string().min(1).optional().describe("Address of a registry.json."),
});

const dataset = z.strictObject({
  path: z.string().min(1).optional().describe("A directory of tasks; relative to the job file."),
  tasks: z
    .array(z.string().min(1))
    .min(1)
    .optional()
    .describe("Task directories one by one; relative to the job file."),
  registry: registryRef.optional().describe("The registry that defines the dataset."),
  name: z.string().min(1).optional().describe("The dataset's name in the registry, or another name for a local one."),
  version: z
    .union([z.string(), z.number()])
    .transform(String)
    .optional()
    .describe("The dataset's version in the registry; may be left out when there is only one."),
  n_concurrent: count.optional().describe("At most this many trials of this dataset at once."),
});

const retry = z.strictObject({
  max_attempts: z
    .int()
    .min(0)
    .default(3)
    .describe("Retries after the first try, for transient infrastructure failures only."),
  initial_delay_ms: z.number().min(0).default(1000),
  max_delay_ms: z.number().min(0).default(30_000),
  multiplier: z.number().min(1).default(2),
});

const environment = z.strictObject({
  type: z
    .string()
    .min(1)
    .default("docker")
    .describe("The environment provider: a built-in name, ./module.ts or a package."),
  force_build: z
    .boolean()
    .default(false)
    .describe("Build from the Dockerfile without cache, even if the task names an image."),
  preserve_env: z
    .enum(["always", "never", "on_failure"])
    .default("never")
    .describe("Which environments to keep after their trial."),
  provider_config: z.record(z.string(), z.unknown()).default({}).describe("Settings of the provider itself."),
  override_cpus: quantity.optional().describe("Instead of the tasks' own cpus."),
  override_memory: quantity.optional().describe("Instead of the tasks' own memory."),
  override_storage: quantity.optional().describe("Instead of the tasks' own storage."),
  pids_limit: z
    .int()
    .min(1)
    .optional()
    .describe("How many processes and threads an environment may have at once (default 4096)."),
  network: z
    .strictObject({ agent: networkPolicy.optional(), verifier: networkPolicy.optional() })
    .prefault({})
    .describe("The hosts that the agent and the verifier can reach (default full)."),
});

const verifier = z.strictObject({
  override_timeout_sec: seconds.default(0).describe("Instead of the tasks' own verifier timeout; 0 means not set."),
  max_timeout_sec: seconds.default(0).describe("Ceiling of the verifier timeout; 0 means not set."),
  disable: z.boolean().default(false).describe("Run no verifier: trials end with `reward: null`."),
  leftovers: z
    .enum(["keep", "kill"])
    .optional()
    .describe("What happens to processes the agent left running (default keep)."),
  nonzero_exit: z
    .enum(["error", "reward"])
    .optional()
    .describe("Whether a test script that exits non-zero is an error (default) or its reward counts."),
  environment: z
    .enum(["shared", "separate"])
    .optional()
    .describe("Verify in the agent's environment (default) or in a fresh one with `paths` copied over."),
  paths: z
    .array(z.string().startsWith("/", "must be absolute"))
    .min(1)
    .optional()
    .describe("What a separate verifier gets."),
  env: envTable.describe("Variables for the verifier only."),
});

/** The shape of job.yaml and job.json, with every default. */
export const jobFileSchema = z
  .strictObject({
    $schema: z.string().optional(),
    name: z.string().min(1).optional().describe("Name of the output directory; the local time when left out."),
    jobs_dir: z
      .string()
      .min(1)
      .default("jobs")
      .describe("Where job directories are made; relative to the working directory."),
    n_attempts: count.default(1).describe("Attempts per agent and task."),
    n_concurrent_trials: count.default(4).describe("Trials that run at once."),
    timeout_multiplier: z.number().gt(0).default(1).describe("Applied to every timeout; for slower machines."),
    retry: retry.prefault({}),
    log_level: z
      .enum(logLevels)
      .default("error")
      .describe("What goes to stderr; everything goes to the job's log file."),
    instruction_path: z.string().startsWith("/", "must be absolute").default("/tmp/instruction.md"),
    output_limit: quantity.default("64Mi").describe("Bytes kept of each captured stream: the first and the last half."),
    logs_limit: quantity
      .default("1Gi")
      .describe("Bytes copied out of /logs; files with which it would be more are left."),
    environment: environment.prefault({}),
    verifier: verifier.prefault({}),
    metrics: z.array(z.strictObject({ type: z.enum(["sum", "min", "max", "mean"]) })).default([]),
    agents: z.array(agent).min(1, "needs at least one agent"),
    datasets: z.array(dataset).min(1, "needs at least one dataset"),
    budget: z
      .strictObject({
        cost_usd: z.number().gt(0).optional(),
        wall_sec: z.number().gt(0).optional(),
        tokens: count.optional(),
      })
      .prefault({})
      .describe("Stop taking trials when one of these is spent."),
  })
  .meta({ title: "Rollout job", description: "Agents x tasks x attempts, and how to run them." });

/** A job file after defaults, still in its own words. */
export type JobFile = z.output<typeof jobFileSchema>;
