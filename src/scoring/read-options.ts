import { z } from "zod";
import { RolloutError } from "../base/rollout-error.ts";
import { schemaProblems } from "../base/schema-problems.ts";
import type { ScorerRun } from "./scorer.ts";

const name = z.string().min(1);
const functionOfRun = z.custom<(run: ScorerRun) => unknown>(
  (value) => typeof value === "function",
  "must be a function",
);

/** The keys of `ScorerOptions`, for the strict schema of a scorer. */
export const scorerShape = {
  id: name.optional(),
  name: name.optional(),
  description: z.string().optional(),
  read: functionOfRun.optional(),
};

/** The keys of `ComparingOptions`. */
export const comparingShape = { ...scorerShape, expected: functionOfRun.optional() };

/** The options with their defaults, or a `usage_invalid` error that names everything that is wrong with them. */
export function readOptions<S extends z.ZodType>(scorer: string, schema: S, options: unknown): z.output<S> {
  const parsed = schema.safeParse(options, { reportInput: true });
  if (parsed.success) return parsed.data;
  const problems = schemaProblems(parsed.error, schema, () => ({ file: scorer }));
  const said = problems.map(({ path, message }) => (path ? `${path}: ${message}` : message));
  throw new RolloutError("usage_invalid", `the options of the scorer "${scorer}" are wrong: ${said.join("; ")}`, {
    problems,
  });
}
