import { RolloutError } from "../../../base/rollout-error.ts";

// What bash does not let itself be told, or would take for its own.
const bashOwn =
  /^(_|BASH.*|DIRSTACK|EPOCH.*|EUID|FUNCNAME|GROUPS|HISTCMD|LINENO|OPTARG|OPTIND|PIPESTATUS|PPID|RANDOM|SECONDS|SHELLOPTS|SHLVL|SRANDOM|UID|PWD|OLDPWD|IFS|POSIXLY_CORRECT)$/;

export interface CommandWords {
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  readonly mark: string;
  readonly endMark: string;
}

/** The words of a command as the supervisor reads them; they never stand in an address, where servers log them. */
export function encodeWords({ command, env, cwd, mark, endMark }: CommandWords): Buffer {
  const pairs = Object.entries(env);
  const isPlain = (name: string): boolean => /^[A-Za-z_]\w*$/.test(name) && !bashOwn.test(name);
  const lists = [
    pairs.filter(([name]) => isPlain(name)).map(([name, value]) => `${name}=${value}`),
    pairs.filter(([name]) => !isPlain(name)).map(([name, value]) => `${name}=${value}`),
    command,
    [mark, endMark, cwd],
  ];
  if (lists.flat().some((word) => word.includes("\0"))) {
    throw new RolloutError("exec_failed", "a word of the command or one of its variables holds a NUL character");
  }
  return Buffer.from(lists.map((list) => [list.length, ...list].map((word) => `${word}\0`).join("")).join(""));
}
