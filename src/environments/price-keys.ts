import { z } from "zod";

const dollars = z.number().nonnegative().optional();

/** The keys of `provider_config` with which a person says what environments cost. */
export const priceKeys = {
  price: dollars.describe("US dollars that an hour of an environment costs; 0 when absent."),
  price_per_hour: dollars.describe("Another name of `price`, which wins."),
};

/** US dollars that an hour of an environment costs. */
export function priceOf(config: {
  readonly price?: number | undefined;
  readonly price_per_hour?: number | undefined;
}): number {
  return config.price ?? config.price_per_hour ?? 0;
}
