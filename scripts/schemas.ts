// Writes schemas/ from the schemas in the source; with --check only says whether they are up to date.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { z } from "zod";
import { messageSchemas } from "../src/experiments/protocol-schema.ts";
import { jobFileSchema } from "../src/jobs/config/job-schema.ts";
import { taskFileSchema } from "../src/jobs/tasks/task-schema.ts";
import { eventSchema, runSchema, unitSchema } from "../src/store/run-schema.ts";

const messages = Object.entries(messageSchemas).map(
  ([name, schema]) => [`executor/${name}.schema.json`, schema] as const,
);
const schemas: Readonly<Record<string, z.ZodType>> = {
  "job.schema.json": jobFileSchema,
  "task.schema.json": taskFileSchema,
  "run.schema.json": runSchema,
  "unit.schema.json": unitSchema,
  "event.schema.json": eventSchema,
  ...Object.fromEntries(messages),
};

let isStale = false;
mkdirSync("schemas/executor", { recursive: true });
for (const [name, schema] of Object.entries(schemas)) {
  const text = `${JSON.stringify(z.toJSONSchema(schema, { io: "input", target: "draft-7", unrepresentable: "any" }), null, 2)}\n`;
  const path = `schemas/${name}`;
  if (existsSync(path) && readFileSync(path, "utf8") === text) continue;
  if (process.argv.includes("--check")) {
    console.error(`${path} is not what the source says; run: npm run schemas`);
    isStale = true;
  } else writeFileSync(path, text);
}
if (isStale) process.exit(1);
