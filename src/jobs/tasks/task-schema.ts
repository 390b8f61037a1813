import { z } from "zod";
import { parseQuantity } from "../../base/quantity.ts";

const seconds = (fallback: number, about: string) =>
  z
    .number("must be a number of seconds")
    .positive("must be more than 0 seconds")
    .default(fallback)
    .describe(`${about} (default: ${fallback})`);

const quantity = (about: string) =>
  z
    .union([z.string(), z.number()], 'must be a quantity such as "2G", "512Mi" or "0.5"')
    .refine(
      (value) => (parseQuantity(String(value)) ?? 0) > 0,
      'must be a quantity above 0 such as "2G", "512Mi" or "0.5"',
    )
    .describe(about);

const mebibytes = (about: string) =>
  z.number("must be a number of mebibytes").positive("must be more than 0").optional().describe(about);

const choice = <const T extends readonly [string, ...string[]]>(values: T, about: string) =>
  z
    .enum(values, `must be ${values.map((value) => `"${value}"`).join(" or ")}`)
    .optional()
    .describe(about);

const version = z.union([z.string(), z.number()], "must be a string").optional();

const verifierSchema = z.looseObject(
  {
    timeout_sec: seconds(600, "Seconds the tests may take"),
    env: z
      .record(
        z.string(),
        z.union([z.string(), z.number(), z.boolean()], "must be a string"),
        "must be a table of strings",
      )
      .default({})
      .describe("Variables for the tests only; ${VAR} and ${VAR:-default} are expanded"),
    leftovers: choice(["keep", "kill"], "Whether processes the agent left running live on while the tests run"),
    nonzero_exit: choice(["error", "reward"], "What a test.sh that ends with a non-zero code but wrote a reward means"),
    // Another tool defines a table under this name. It passes here and makes the task invalid later, by name.
    environment: z
      .union([z.enum(["shared", "separate"]), z.record(z.string(), z.unknown())], 'must be "shared" or "separate"')
      .optional()
      .describe("Where the tests run: in the agent's container or in a fresh one"),
    paths: z
      .array(z.string("must be a path"), "must be a list of paths")
      .optional()
      .describe("What is copied into a separate environment (default: the working directory)"),
  },
  "must be a table",
);

const agentSchema = z.looseObject(
  {
    install_timeout_sec: seconds(300, "Seconds the agent's installation may take"),
    timeout_sec: seconds(600, "Seconds the agent may work"),
  },
  "must be a table",
);

const environmentSchema = z.looseObject(
  {
    build_timeout_sec: seconds(600, "Seconds the image's build may take"),
    docker_image: z
      .string("must be the name of an image")
      .nullable()
      .default(null)
      .describe("A pre-built image, used instead of environment/Dockerfile"),
    cpus: quantity('CPUs (default: "1")').default("1"),
    memory: quantity('RAM (default: "2G")').optional(),
    memory_mb: mebibytes("RAM in MiB, as other tools write it"),
    storage: quantity('Storage (default: "10G")').optional(),
    storage_mb: mebibytes("Storage in MiB, as other tools write it"),
    os: z.string("must be a string").optional().describe('Only "linux" is supported'),
  },
  "must be a table",
);

/** Quantities that stand for a key that is written in neither of its two forms. */
export const quantityDefaults = { memory: "2G", storage: "10G" } as const;

/** The keys of a task.toml. Unknown keys are reported as warnings. */
export const taskFileSchema = z
  .looseObject({
    version: version.describe("Version of the task format"),
    schema_version: version.describe("Another tool's name for version"),
    source: z.string("must be a string").nullable().default(null).describe("Where the task comes from"),
    metadata: z
      .record(z.string(), z.unknown(), "must be a table")
      .default({})
      .describe("Whatever the author wants to say: tags, category, difficulty, …"),
    verifier: verifierSchema.prefault({}),
    agent: agentSchema.prefault({}),
    environment: environmentSchema.prefault({}),
  })
  .meta({ title: "Task configuration" });

/** A task.toml as written, checked and with its defaults. */
export type TaskFile = z.output<typeof taskFileSchema>;

/** Our keys, by the table they stand in; the empty name is the top of the file. */
export const knownKeys: Readonly<Record<"" | "verifier" | "agent" | "environment", readonly string[]>> = {
  "": Object.keys(taskFileSchema.shape),
  verifier: Object.keys(verifierSchema.shape),
  agent: Object.keys(agentSchema.shape),
  environment: Object.keys(environmentSchema.shape),
};

/** Keys that other tools define. They change nothing here, or make the task invalid (unsupported-features.ts). */
export const foreignKeys: ReadonlySet<string> = new Set(
  `artifacts reward solution task steps multi_step_reward_strategy network_mode allowed_hosts user reasoning_effort
  run_tests_in_same_shell environment_mode collect parser_name gpus gpu_types tpu allow_internet workdir image
  base_image custom_docker_compose skills_dir env mcp_servers healthcheck`.split(/\s+/),
);
