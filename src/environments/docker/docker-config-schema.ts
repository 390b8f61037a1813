import { isIP } from "node:net";
import { posix } from "node:path";
import { z } from "zod";
import { parseQuantity } from "../../base/quantity.ts";
import { describeUnknown } from "../../base/suggest.ts";
import { capabilityProblem } from "./capability-names.ts";
import { priceKeys } from "../price-keys.ts";

const bytes = z
  .union([z.string(), z.number()], { error: "expected a number of bytes, such as 64Mi or 1G" })
  .transform((value, context) => {
    const amount = parseQuantity(String(value));
    if (amount !== undefined && amount > 0) return Math.round(amount);
    context.addIssue({ code: "custom", message: "expected a number of bytes, such as 64Mi or 1G" });
    return z.NEVER;
  })
  .describe("A number of bytes: `64Mi`, `1G`.");

const name = z.string().min(1);

const capability = z.string().superRefine((value, context) => {
  const problem = capabilityProblem(value);
  if (problem !== null) context.addIssue({ code: "custom", message: problem });
});

const mount = z
  .strictObject({
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
  })
  .refine(({ type, source }) => type !== "bind" || source !== undefined, {
    path: ["source"],
    error: "is required for a mount of type bind: a path relative to the job file",
  })
  .refine(({ type, source }) => type !== "tmpfs" || source === undefined, {
    path: ["source"],
    error: "a mount of type tmpfs has no source",
  });

const ulimitNames =
  "core cpu data fsize locks memlock msgqueue nice nofile nproc rss rtprio rttime sigpending stack".split(" ");

const ulimitName = z.string().superRefine((value, context) => {
  if (!ulimitNames.includes(value)) {
    context.addIssue({ code: "custom", message: describeUnknown("limit", value, ulimitNames) });
  }
});

const ulimit = z.union(
  [
    z.int().min(-1),
    z
      .strictObject({ soft: z.int().min(-1), hard: z.int().min(-1) })
      .refine(({ soft, hard }) => hard === -1 || (soft !== -1 && soft <= hard), {
        error: "soft must not be more than hard; -1 is no limit",
      })
      .describe("The two limits apart; a number sets both."),
  ],
  { error: "expected a number or { soft, hard }, where -1 is no limit" },
);

const address = z.string().refine((value) => isIP(value) !== 0, { error: "expected an IP address" });

const extraHost = z.string().refine(
  (value) => {
    const target = /^[^:=]+[:=](.+)$/.exec(value)?.[1];
    return target === "host-gateway" || isIP((target ?? "").replace(/^\[(.*)\]$/, "$1")) !== 0;
  },
  { error: "expected host:address with an IP address, or host:host-gateway" },
);

const build = z.strictObject({
  args: z.record(name, z.string()).default({}).describe("Values for the Dockerfile's ARG."),
  target: name.optional().describe("The stage to build; the last one when absent."),
  secrets: z
    .record(
      name,
      z.union([z.strictObject({ env: name }), z.strictObject({ file: name })], {
        error: "expected { env: NAME } or { file: path }",
      }),
    )
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
    .union([z.literal("all"), z.int().positive(), z.array(name).min(1)], {
      error: 'expected "all", how many, or a list of the ids of devices',
    })
    .optional()
    .describe("`all`, how many, or the ids of devices."),
  privileged: z.boolean().default(false),
  cap_add: z.array(capability).default([]),
  cap_drop: z.array(capability).default([]),
  shm_size: bytes.optional().describe("The size of /dev/shm."),
  ulimits: z.record(ulimitName, ulimit).default({}),
  extra_hosts: z.array(extraHost).default([]),
  dns: z.array(address).default([]),
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
  ...priceKeys,
});

export type DockerConfig = z.infer<typeof dockerConfigSchema>;
