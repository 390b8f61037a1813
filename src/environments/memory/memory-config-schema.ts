import { z } from "zod";
import { priceKeys } from "../price-keys.ts";

/** `provider_config` of the memory provider. */
export const memoryConfigSchema = z.strictObject({
  handler: z.string().min(1).describe("Module that exports the function `handler`, relative to the job file."),
  ...priceKeys,
});
