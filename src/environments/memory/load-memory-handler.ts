import { stat } from "node:fs/promises";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { messageOf, RolloutError } from "../../base/rollout-error.ts";
import type { MemoryHandler } from "./memory-handler.ts";

const hint = "provider_config.handler names a module that exports a function `handler`, relative to the job file";

/** The function `handler` of a module; rejects with `config_invalid` when there is none. */
export async function loadMemoryHandler(path: string, baseDir: string): Promise<MemoryHandler> {
  const file = resolve(baseDir, path);
  const isFile = await stat(file).then(
    (stats) => stats.isFile(),
    () => false,
  );
  if (!isFile) throw new RolloutError("config_invalid", `the handler module ${file} does not exist`, { hint });
  let loaded: { readonly handler?: unknown };
  try {
    loaded = await import(pathToFileURL(file).href);
  } catch (error) {
    throw new RolloutError("config_invalid", `the handler module ${file} cannot be loaded: ${messageOf(error)}`, {
      hint,
      cause: error,
    });
  }
  if (typeof loaded.handler !== "function") {
    throw new RolloutError("config_invalid", `the module ${file} exports no function \`handler\``, { hint });
  }
  return loaded.handler as MemoryHandler;
}
