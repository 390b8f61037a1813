import type { ErrorObject, ValidateFunction } from "ajv";
import type { JsonObject } from "../../base/json.ts";
import { formatPath } from "../../base/problem.ts";
import { messageOf, RolloutError } from "../../base/rollout-error.ts";
import type { DatasetTraits, NewItem } from "../../store/dataset-store.ts";

/** Something of an item that its dataset's schemas do not allow. */
export interface SchemaProblem {
  /** `input.messages[0].role` */
  readonly path: string;
  readonly message: string;
}

/** Says what of an item the schemas do not allow. */
export type ItemCheck = (item: NewItem) => readonly SchemaProblem[];

/** Compiles the schemas of a dataset; rejects with `config_invalid` when one is no JSON Schema. */
export async function compileItemCheck(
  traits: Pick<DatasetTraits, "inputSchema" | "expectedOutputSchema">,
): Promise<ItemCheck> {
  const { inputSchema, expectedOutputSchema } = traits;
  if (inputSchema === null && expectedOutputSchema === null) return () => [];
  const input = inputSchema && (await compile(inputSchema, "input"));
  const output = expectedOutputSchema && (await compile(expectedOutputSchema, "expected output"));
  return (item) => [
    ...problemsOf(input, item.input, "input"),
    ...(item.expectedOutput === undefined ? [] : problemsOf(output, item.expectedOutput, "expectedOutput")),
  ];
}

async function compile(schema: JsonObject, what: string): Promise<ValidateFunction> {
  // Only datasets with a schema pay for it.
  const { Ajv2020 } = await import("ajv/dist/2020.js");
  try {
    return new Ajv2020({ allErrors: true, strict: false, validateFormats: false }).compile(schema);
  } catch (error) {
    throw new RolloutError("config_invalid", `the ${what} schema is no JSON Schema: ${messageOf(error)}`, {
      hint: "it is read as draft 2020-12",
      cause: error,
    });
  }
}

function problemsOf(validate: ValidateFunction | null, value: unknown, root: string): SchemaProblem[] {
  if (validate === null || validate(value)) return [];
  return (validate.errors ?? []).map((error) => ({
    path: formatPath([root, ...pathOf(error.instancePath)]),
    message: textOf(error),
  }));
}

function pathOf(pointer: string): (string | number)[] {
  const parts = pointer.split("/").slice(1);
  return parts.map((part) => (/^\d+$/.test(part) ? Number(part) : part.replaceAll("~1", "/").replaceAll("~0", "~")));
}

function textOf({ keyword, message, params }: ErrorObject): string {
  if (keyword === "additionalProperties") return `unknown key "${params["additionalProperty"]}"`;
  if (keyword === "enum") return `must be one of ${JSON.stringify(params["allowedValues"])}`;
  return message ?? `does not meet "${keyword}"`;
}
