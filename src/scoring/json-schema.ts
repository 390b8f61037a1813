import type { AnySchemaObject, ErrorObject, ValidateFunction } from "ajv/dist/2020.js";
import { z } from "zod";
import { RolloutError, messageOf } from "../base/rollout-error.ts";
import { jsonValueOf } from "./json-value-of.ts";
import { makeScorer, passOrFail } from "./make-scorer.ts";
import type { Scorer } from "./scorer.ts";
import { readOptions, scorerShape } from "./read-options.ts";
import type { ScorerOptions } from "./scorer-options.ts";

export interface JsonSchemaOptions extends ScorerOptions {
  /** A JSON Schema of draft 2020-12. */
  readonly schema: Readonly<Record<string, unknown>>;
}

const schema = z.strictObject({ ...scorerShape, schema: z.record(z.string(), z.unknown()) });

const mostNamed = 5;

/**
 * Marks 1 when the output, parsed if it is a text, fits a JSON Schema of draft 2020-12, otherwise 0 with the paths that do
 * not. What is wrong with the schema itself is thrown by the first run, for the checker is only loaded then.
 */
export function jsonSchema(options: JsonSchemaOptions): Scorer {
  const { schema: wanted, ...common } = readOptions("json-schema", schema, options);
  let validator: Promise<ValidateFunction> | undefined;
  return makeScorer(common, "fits the JSON Schema", "json-schema", async (output) => {
    const found = jsonValueOf(output);
    if (!found.isJson) return passOrFail(false, found.reason);
    const validate = await (validator ??= compile(wanted));
    return passOrFail(validate(found.value), describe(validate.errors ?? []));
  });
}

async function compile(wanted: AnySchemaObject): Promise<ValidateFunction> {
  const { Ajv2020 } = await import("ajv/dist/2020.js");
  try {
    // Formats are notes in this draft, and a word of another tool is no reason to refuse a schema.
    return new Ajv2020({ allErrors: true, strict: false, validateFormats: false, logger: false }).compile(wanted);
  } catch (error) {
    throw new RolloutError("usage_invalid", `the schema of the scorer "json-schema" is wrong: ${messageOf(error)}`, {
      cause: error,
    });
  }
}

function describe(errors: readonly ErrorObject[]): string {
  const lines = errors.map(({ instancePath, message, params }) => {
    const extra = (params as { additionalProperty?: string }).additionalProperty;
    return `${instancePath || "the output"} ${message ?? "does not fit"}${extra === undefined ? "" : ` (${extra})`}`;
  });
  const left = lines.length - mostNamed;
  return [...lines.slice(0, mostNamed), ...(left > 0 ? [`and ${left} more`] : [])].join("; ");
}
