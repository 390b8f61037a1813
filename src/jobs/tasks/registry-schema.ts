import { z } from "zod";
import type { RegistryEntry } from "./registry.ts";

const registryTaskSchema = z.object({
  name: z.string("must be a string").min(1, "must not be empty"),
  git_url: z.string("must be the URL of a Git repository").min(1, "must not be empty"),
  git_commit_id: z.string("must be a commit id").nullish(),
  path: z.string("must be a path inside the repository").nullish(),
});

const registryEntrySchema = z.object({
  name: z.string("must be a string").min(1, "must not be empty"),
  version: z.union([z.string(), z.number()], "must be a string").nullish(),
  description: z.string("must be a string").nullish(),
  tasks: z.array(registryTaskSchema, "must be a list of tasks"),
});

/** The entries of a registry; keys beside ours are passed over. */
export const registrySchema = z.array(registryEntrySchema, "must be a list of datasets");

/** The neutral form of what the schema accepted. */
export function toRegistryEntries(entries: z.output<typeof registrySchema>): RegistryEntry[] {
  return entries.map((entry) => ({
    name: entry.name,
    version: entry.version == null ? null : String(entry.version),
    description: entry.description ?? null,
    tasks: entry.tasks.map((task) => ({
      name: task.name,
      gitUrl: task.git_url,
      gitCommitId: task.git_commit_id?.trim() || null,
      path: task.path?.trim() || ".",
    })),
  }));
}
