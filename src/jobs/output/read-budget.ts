import { readFile } from "node:fs/promises";
import type { Budget } from "../config/job.ts";
import { jobPaths } from "./job-paths.ts";

/** The budget that the job in a directory was last run with; no limits when its config.json cannot be read. */
export async function readBudget(dir: string): Promise<Budget> {
  const text = await readFile(jobPaths(dir).config, "utf8").catch(() => "{}");
  const { budget } = parse(text) as { readonly budget?: Readonly<Record<string, unknown>> };
  const limit = (name: string): number | null => {
    const value = budget?.[name];
    return typeof value === "number" ? value : null;
  };
  return { costUsd: limit("cost_usd"), wallSec: limit("wall_sec"), tokens: limit("tokens") };
}

function parse(text: string): object {
  try {
    return (JSON.parse(text) as object | null) ?? {};
  } catch {
    return {};
  }
}
