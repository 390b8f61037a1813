import { z } from "zod";

/** `provider_config` of the memory provider. */
export const memoryConfigSchema = z.strictObject({
  handler: z.string().min(1).describe("Module that exports the function `handler`, relative to the job file."),
  price_per_hour: z.number().nonnegative().default(0).describe("US dollars that an hour of an environment costs."),
});
