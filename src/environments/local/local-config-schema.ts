import { z } from "zod";
import { priceKeys } from "../price-keys.ts";

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
  ...priceKeys,
});

export type LocalConfig = z.infer<typeof localConfigSchema>;
