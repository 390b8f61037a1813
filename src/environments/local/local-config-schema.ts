import { z } from "zod";

/** `provider_config` of the local provider. */
export const localConfigSchema = z.strictObject({
  base: z
    .string()
    .min(1)
    .optional()
    .describe(
      "`host`, the default, or a directory or tarball with a root file system, relative to the job file. Who says `host` is not warned that FROM and `docker_image` are not used.",
    ),
  storage: z
    .enum(["disk", "memory"])
    .default("disk")
    .describe(
      "Where an environment writes: `memory` keeps the storage limit and counts as memory; nothing of it can be kept.",
    ),
  price_per_hour: z.number().nonnegative().default(0).describe("US dollars that an hour of an environment costs."),
});

export type LocalConfig = z.infer<typeof localConfigSchema>;
