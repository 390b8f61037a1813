import { rmSync } from "node:fs";
import { join } from "node:path";
import type { ProviderModule } from "../../src/environments/environment.ts";
import { runJob } from "../../src/public/jobs.ts";
import { startMeter, type Cost } from "./measure.ts";

export interface TrialsOptions {
  /** Holds the job's directory for as long as it runs, and the dataset as `tasks`. */
  readonly root: string;
  readonly name: string;
  readonly environment: { readonly type: string; readonly module?: ProviderModule };
  readonly trials: number;
  readonly inFlight: number;
  readonly onFinished?: (finished: number) => void;
}

/** Runs a job with the oracle and tells its cost from the first trial on: what a job does once is not what a trial costs. */
export async function runTrials(options: TrialsOptions): Promise<Cost> {
  const { root, name, environment, trials, inFlight, onFinished = () => {} } = options;
  const { type, module } = environment;
  let finished = 0;
  let stop: ((trials: number) => Cost) | null = null;
  const { result } = await runJob(
    {
      name,
      jobs_dir: root,
      n_attempts: trials,
      n_concurrent_trials: inFlight,
      environment: { type },
      agents: [{ name: "oracle" }],
      datasets: [{ path: join(root, "tasks") }],
    },
    {
      ...(module === undefined ? {} : { environments: { [type]: module } }),
      onEvent: (event) => {
        if (event.type === "unit_started") stop ??= startMeter();
        if (event.type === "unit_finished") onFinished(++finished);
      },
    },
  );
  if (result.completed_trials !== trials || result.pass_rate !== 1)
    throw new Error(`expected ${trials} passes: ${JSON.stringify(result.errors)}`);
  const end = stop as ((trials: number) => Cost) | null;
  if (end === null) throw new Error("no trial has started");
  const cost = end(trials);
  rmSync(join(root, name), { recursive: true, force: true });
  return cost;
}
