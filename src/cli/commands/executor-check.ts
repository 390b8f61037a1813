import { existsSync } from "node:fs";
import { extname, resolve } from "node:path";
import type { Json } from "../../base/json.ts";
import { plainJson } from "../../base/plain-json.ts";
import { RolloutError } from "../../base/rollout-error.ts";
import { plainText } from "../../base/terminal-text.ts";
import { checkExecutor } from "../../experiments/check/check-executor.ts";
import type { RuleVerdict } from "../../experiments/check/check-rule.ts";
import { chooseCommand } from "../../experiments/executor/choose-command.ts";
import type { CliContext } from "../cli-context.ts";
import { exitCodeOfSignal, exitCodes } from "../exit-codes.ts";
import { listenToInterrupts } from "../interrupts.ts";

export interface ExecutorCheckOptions {
  readonly input?: string;
  readonly expected?: string;
  readonly badInput?: string;
  readonly slowInput?: string;
  readonly rule?: readonly string[];
  readonly timeout: number;
  readonly json?: boolean;
}

const words = { pass: "ok", fail: "FAILED", not_offered: "not offered", not_checked: "not checked" } as const;
const files = [".py", ".ts", ".mts", ".js", ".mjs"];

/** `rollout executor check`: checks any executor against the rules of the protocol and returns the exit code. */
export async function executorCheckCommand(
  given: readonly string[],
  options: ExecutorCheckOptions,
  context: CliContext,
): Promise<number> {
  const { host, terminal, clock, packageDir } = context;
  if (!(options.timeout > 0)) throw new RolloutError("usage_invalid", "--timeout must be a number of seconds above 0");
  const [only = "", ...others] = given;
  const isFile = others.length === 0 && files.includes(extname(only));
  if (isFile && !existsSync(resolve(host.cwd, only))) throw new RolloutError("not_found", `${only} does not exist`);
  const command = isFile
    ? chooseCommand({ file: resolve(host.cwd, only), executor: undefined, execPath: host.execPath, packageDir })
    : given;
  using interrupts = listenToInterrupts(
    context.process,
    () => {},
    () => {},
    "the check",
  );
  const request = {
    command,
    env: host.env,
    cwd: host.cwd,
    input: readJson("--input", options.input) ?? null,
    expected: readJson("--expected", options.expected),
    badInput: readJson("--bad-input", options.badInput),
    slowInput: readJson("--slow-input", options.slowInput),
    only: options.rule ?? [],
    limitMs: options.timeout * 1000,
    clock,
    signal: interrupts.signal,
    onVerdict: (verdict: RuleVerdict) => {
      if (!options.json) terminal.out(describe(verdict));
    },
  };
  try {
    const verdicts = await checkExecutor(request);
    const count = (kind: RuleVerdict["verdict"]): number => verdicts.filter(({ verdict }) => verdict === kind).length;
    const exitCode = count("fail") === 0 ? exitCodes.done : exitCodes.gate;
    if (options.json) terminal.out(`${plainJson(toJson(verdicts, exitCode), 2)}\n`);
    else
      terminal.out(
        `\n${Object.entries(words)
          .map(([kind, word]) => `${count(kind as RuleVerdict["verdict"])} ${word.toLowerCase()}`)
          .join(", ")}\n`,
      );
    return exitCode;
  } catch (error) {
    if (interrupts.received !== null) return exitCodeOfSignal(interrupts.received);
    throw error;
  }
}

function describe({ rule, title, verdict, why, transcript }: RuleVerdict): string {
  const head = `${words[verdict].padEnd(12)} ${rule.padEnd(18)} ${title}\n`;
  const reason = why === null ? "" : `${" ".repeat(13)}${plainText(why)}\n`;
  return head + reason + transcript.map((line) => `${" ".repeat(15)}${plainText(line)}\n`).join("");
}

function toJson(verdicts: readonly RuleVerdict[], exitCode: number): Json {
  return { schema_version: 1, exit_code: exitCode, rules: verdicts.map((verdict) => ({ ...verdict })) };
}

function readJson(name: string, text: string | undefined): Json | undefined {
  if (text === undefined) return undefined;
  try {
    return JSON.parse(text) as Json;
  } catch (error) {
    throw new RolloutError("usage_invalid", `${name} ${text}: it is no JSON`, { cause: error });
  }
}
