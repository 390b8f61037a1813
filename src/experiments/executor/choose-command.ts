import { extname, join } from "node:path";
import { RolloutError } from "../../base/rollout-error.ts";

export interface CommandWish {
  readonly file: string;
  /** A line for the shell, which wins over what the file's name says. */
  readonly executor: string | undefined;
  readonly execPath: string;
  readonly packageDir: string;
}

export interface ExecutorCommand {
  readonly command: readonly string[];
  /** Variables beside those of this process. */
  readonly env: Readonly<Record<string, string>>;
}

/** What starts the executor of an experiment file. */
export function chooseCommand({ file, executor, execPath, packageDir }: CommandWish): ExecutorCommand {
  if (executor !== undefined) return { command: ["sh", "-c", `exec ${executor} "$@"`, "executor", file], env: {} };
  switch (extname(file)) {
    case ".py":
      // The SDK comes with us, so that nothing has to be installed; an installed one comes first on the path of modules.
      return {
        command: ["python3", "-m", "rollout_eval", file],
        env: { ROLLOUT_PYTHON_SDK: join(packageDir, "sdk/python/src") },
      };
    case ".ts":
    case ".mts":
    case ".js":
    case ".mjs":
      return { command: [execPath, join(packageDir, "dist/experiment-executor.js"), file], env: {} };
    default:
      throw new RolloutError("usage_invalid", `no executor is known for ${file}`, {
        hint: 'a .py, .ts or .js file has one; name any other with --executor "command"',
      });
  }
}
