import { z } from "zod";
import { labelsOf } from "./judge-scale.ts";

/** The schema of a scale; labels must differ in more than case. */
export const judgeScaleSchema = z
  .union(
    [
      z.strictObject({ min: z.number(), max: z.number() }),
      z.strictObject({ choices: z.record(z.string().trim().min(1), z.number()) }),
    ],
    "expected { min, max } or { choices: { label: score } }",
  )
  .refine((scale) => "choices" in scale || scale.min < scale.max, "min must be below max")
  .refine((scale) => !("choices" in scale) || labelsOf(scale).length > 1, "needs at least two choices")
  .refine(
    (scale) =>
      !("choices" in scale) ||
      new Set(labelsOf(scale).map((label) => label.trim().toLowerCase())).size === labelsOf(scale).length,
    "labels must differ in more than case",
  );
