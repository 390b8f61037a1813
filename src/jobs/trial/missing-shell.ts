import type { Environment, OutputSink } from "../../environments/environment.ts";
import { callEnvironment } from "./call-environment.ts";
import type { Failure } from "./failure.ts";
import type { CapturedEnd } from "./run-captured.ts";
import type { TryState } from "./try-state.ts";

const nowhere: OutputSink = { write: () => {} };
// What a command ends with that cannot be run, and a script whose last command cannot.
const notRun: readonly (number | null)[] = [126, 127];

/** The failure of an environment that has no shell to run scripts with; null when there is one. Asked while nothing of the agent's has run. */
export async function missingShell(
  { context, trial }: TryState,
  environment: Environment,
  end: CapturedEnd,
): Promise<Failure | null> {
  if (!context.provider.capabilities.shell || !notRun.includes(end.result.exitCode)) return null;
  const command = ["bash", "-c", ":"];
  const ask = (signal: AbortSignal): ReturnType<Environment["exec"]> =>
    environment.exec({ command, env: {}, stdout: nowhere, stderr: nowhere, signal });
  const { exitCode } = await callEnvironment(context, "looking for bash", ask);
  if (!notRun.includes(exitCode)) return null;
  // A base is the job's choice; every other image is the task's.
  const isBase = trial.image?.kind === "base";
  const whose = isBase ? "the base that provider_config names" : "the task's image";
  const words = end.lastLines.length > 0 ? `: ${end.lastLines.join("\n")}` : "";
  const message = `${whose} has no bash that runs, and every script of a trial needs it${words}`;
  return { type: "environment_start_failed", message, cause: isBase ? "configuration" : null, detail: message };
}
