import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { RolloutError } from "../../base/rollout-error.ts";
import type { Entrance } from "../../environments/environment.ts";
import { readTrialEnvironment } from "../../jobs/output/read-environment.ts";
import { readTrial } from "../../jobs/output/read-job.ts";
import type { TrialResultFile } from "../../jobs/output/trial-result-schema.ts";
import type { CliContext } from "../cli-context.ts";
import { exitCodeOfSignal } from "../exit-codes.ts";
import { listenToInterrupts } from "../interrupts.ts";
import { openProvider } from "../open-provider.ts";

/** `rollout enter`: a shell in the environment that a trial kept; ends with the shell's exit code. */
export async function enterCommand(
  directory: string,
  options: { readonly environment?: string },
  context: CliContext,
): Promise<number> {
  const { host, process } = context;
  const dir = resolve(host.cwd, directory);
  const trial = await readTrialAt(dir, directory);
  // What a person types at the shell's prompt is for the shell.
  using interrupts = listenToInterrupts(
    process,
    () => {},
    () => {},
  );
  const { signal } = new AbortController();
  await using provider = await openProvider(await readTrialEnvironment(dir, host.env), context, signal);
  if (!provider.capabilities.stop)
    throw new RolloutError(
      "unsupported",
      `environment "${provider.name}" keeps nothing as ${directory} had it set up`,
      {
        hint: "a disk in memory is gone with its environment: a job with --set environment.provider_config.storage=disk --set environment.preserve_env=always keeps it",
      },
    );
  const id = findKept(trial, directory, options.environment);
  const isTerminal = process.stdin.isTTY && process.stdout.isTTY;
  await using entrance = await provider.enter({ id, isTerminal, signal });
  if (isTerminal) context.terminal.err(`a shell in ${id}; \`exit\` leaves it\n`);
  return await runShell(entrance, () => exitCodeOfSignal(interrupts.received ?? "SIGINT"));
}

async function readTrialAt(dir: string, shown: string): Promise<TrialResultFile> {
  if (!existsSync(dir)) throw new RolloutError("not_found", `${shown} does not exist`);
  const trial = await readTrial(dir);
  if (!trial)
    throw new RolloutError("not_found", `${shown} is not a trial directory: it has no result.json of a trial`);
  return trial;
}

function findKept(trial: TrialResultFile, shown: string, asked: string | undefined): string {
  const kept = trial.teardown?.kept ?? [];
  const [first] = kept;
  if (first === undefined) {
    throw new RolloutError("not_found", `the environment of ${shown} was not kept`, {
      hint: "run the job with --set environment.preserve_env=always, or on_failure",
    });
  }
  if (asked === undefined) return first.id;
  if (kept.some(({ id }) => id === asked)) return asked;
  const ids = kept.map(({ id }) => id).join(", ");
  throw new RolloutError("not_found", `${shown} kept no environment ${asked}; it kept ${ids}`);
}

function runShell({ command, env }: Entrance, signalCode: () => number): Promise<number> {
  const [file = "", ...args] = command;
  const child = spawn(file, args, { env: { ...env }, stdio: "inherit" });
  return new Promise((done, reject) => {
    child.once("error", reject);
    child.once("close", (code) => done(code ?? signalCode()));
  });
}
