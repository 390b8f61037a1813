import type { CliContext } from "../cli-context.ts";
import type { ExperimentCommandOptions } from "../commands/experiment.ts";
import { listenAndReport } from "../report-options.ts";
import { beginExecutor } from "./begin-executor.ts";
import { exitWhenForced } from "./exit-when-forced.ts";

/** Starts the executor of an experiment file before what else the command needs is even loaded, and returns the exit code. */
export async function beginExperiment(
  path: string,
  options: ExperimentCommandOptions,
  context: CliContext,
): Promise<number> {
  using told = listenAndReport(options, context, "runs");
  const { reporter, interrupts } = told;
  using _exit = exitWhenForced(interrupts, context);
  await using begun = beginExecutor({ path, options, reporter, signal: interrupts.signal }, context);
  const { experimentCommand } = await import("../commands/experiment.ts");
  return await experimentCommand(path, options, { begun, told }, context);
}
