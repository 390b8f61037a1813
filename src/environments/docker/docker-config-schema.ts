import { posix } from "node:path";
import { z } from "zod";
import { parseQuantity } from "../../base/quantity.ts";

const bytes = z
  .union([z.string(), z.number()])
  .transform((value, context) => {
    const amount = parseQuantity(String(value));
    if (amount !== undefined && amount > 0) return Math.round(amount);
    context.addIssue({ code: "custom", message: "expected a number of bytes, such as 64Mi or 1G" });
    return z.NEVER;
  })
  .describe("A number of bytes: `64Mi`, `1G`.");

const name = z.string().min(1);

const mount = z.strictObject({
  type: z.enum(["bind", "volume", "tmpfs"]).default("bind"),
  source: name
    .optional()
    .describe("A host path, relative to the job file, for `bind`; the name of a volume for `volume`."),
  target: z
    .string()
    .regex(/^\//, "expected an absolute path")
    .refine((path) => !/^\/((logs|tests|oracle)(\/.*)?|tmp\/?)?$/.test(posix.normalize(path)), {
      error: "expected another place: /, /tmp, /logs, /tests and /oracle are where trials keep their own files",
    }),
  read_only: z.boolean().default(false),
});

const ulimit = z.union([
  z.int(),
  z.strictObject({ soft: z.int(), hard: z.int() }).describe("The two limits apart; a number sets both."),
]);

const build = z.strictObject({
  args: z.record(name, z.string()).default({}).describe("Values for the Dockerfile's ARG."),
  target: name.optional().describe("The stage to build; the last one when absent."),
  secrets: z
    .record(name, z.union([z.strictObject({ env: name }), z.strictObject({ file: name })]))
    .default({})
    .describe("For `RUN --mount=type=secret,id=…`: from a variable, or from a file relative to the job file."),
});

/** `provider_config` of the docker provider. */
export const dockerConfigSchema = z.strictObject({
  network: name.optional().describe("The Docker network of the containers; the engine's default bridge when absent."),
  runtime: name.optional().describe("The OCI runtime, such as `runsc`; the engine's default when absent."),
  mounts: z.array(mount).default([]).describe("What is mounted into every container."),
  user: name.optional().describe("The user of commands that name none; the image's when absent."),
  platform: name.optional().describe("What images are built and pulled for, such as `linux/amd64`."),
  gpus: z
    .union([z.literal("all"), z.int().positive(), z.array(name).min(1)])
    .optional()
    .describe("`all`, how many, or the ids of devices."),
  privileged: z.boolean().default(false),
  cap_add: z.array(name).default([]),
  cap_drop: z.array(name).default([]),
  shm_size: bytes.optional().describe("The size of /dev/shm."),
  ulimits: z.record(name, ulimit).default({}),
  extra_hosts: z.array(z.string().regex(/^[^:]+[:=].+$/, "expected host:address")).default([]),
  dns: z.array(name).default([]),
  init: z
    .boolean()
    .optional()
    .describe("A process of the engine that reaps orphans; when absent, wherever the engine has one."),
  pull: z
    .enum(["missing", "always", "never"])
    .default("missing")
    .describe("When an image that a task names is pulled."),
  build: build.prefault({}).describe("How Dockerfiles are built."),
  storage_quota: z
    .boolean()
    .default(false)
    .describe("Enforce the limit on storage with the engine's storage driver, which must be able to."),
  price_per_hour: z.number().nonnegative().default(0).describe("US dollars that an hour of an environment costs."),
});

export type DockerConfig = z.infer<typeof dockerConfigSchema>;
