import { plainJson } from "../../base/plain-json.ts";
import { checkJson } from "../check-json.ts";
import { renderCheck } from "../check-report.ts";
import type { CliContext } from "../cli-context.ts";
import { exitCodeOfCheck } from "../exit-codes.ts";
import { listenToInterrupts } from "../interrupts.ts";
import type { CheckOptions } from "../read-check-job.ts";
import { runCheck, type CheckTalk } from "../run-check.ts";

/** `rollout check`: runs `oracle` and `nop` on tasks, names those that are not to be trusted and returns the exit code. */
export async function checkCommand(
  paths: readonly string[],
  options: CheckOptions,
  context: CliContext,
): Promise<number> {
  const { host, terminal } = context;
  const talk: CheckTalk = { reporter: null };
  using interrupts = listenToInterrupts(
    context.process,
    (name) => talk.reporter?.say(`${name}: stopping the running trials and cleaning up; once more to stop waiting`),
    () => talk.reporter?.say("not waiting any longer"),
  );
  const { report, isStoppedByBudget } = await runCheck({ paths, options }, { talk, interrupts }, context);
  const exitCode = exitCodeOfCheck(report.verdicts, isStoppedByBudget, interrupts.received);
  if (options.json) terminal.out(`${plainJson(checkJson(report, exitCode))}\n`);
  else terminal.out(renderCheck(report, { columns: terminal.columns(), cwd: host.cwd, ...terminal.outStyle }));
  return exitCode;
}
