import { extname, join } from "node:path";
import { RolloutError } from "../../base/rollout-error.ts";

export interface CommandWish {
  readonly file: string;
  /** A line for the shell, which wins over what the file's name says. */
  readonly executor: string | undefined;
  readonly execPath: string;
  readonly packageDir: string;
}

// The SDK comes with us, so that nothing has to be installed; one that is installed comes first.
const startPython =
  "import sys, runpy; sys.path.append(sys.argv.pop(1)); runpy.run_module('rollout_eval', run_name='__main__', alter_sys=True)";

/** What starts the executor of an experiment file. */
export function chooseCommand({ file, executor, execPath, packageDir }: CommandWish): readonly string[] {
  if (executor !== undefined) return ["sh", "-c", `exec ${executor} "$@"`, "executor", file];
  switch (extname(file)) {
    case ".py":
      return ["python3", "-c", startPython, join(packageDir, "sdk/python/src"), file];
    case ".ts":
    case ".mts":
    case ".js":
    case ".mjs":
      return [execPath, join(packageDir, "dist/experiment-executor.js"), file];
    default:
      throw new RolloutError("usage_invalid", `no executor is known for ${file}`, {
        hint: 'a .py, .ts or .js file has one; name any other with --executor "command"',
      });
  }
}
