import { boundYoungGeneration } from "./bound-young-generation.ts";
import type { CliContext } from "./cli-context.ts";
import { listenToInterrupts, type Interrupts } from "./interrupts.ts";
import { openRunReporter, type JsonMode, type RunReporter } from "./run-reporter.ts";

/** How a person wants to be told of a run. */
export interface ReportOptions {
  readonly json?: boolean;
  readonly jsonEvents?: boolean;
  readonly quiet?: boolean;
}

/** What a run is made of, and what it is called itself. */
const wholes = { trials: "the job", items: "the run", runs: "the experiment" } as const;

/** Which JSON a person wants. */
export function jsonModeOf({ json, jsonEvents }: ReportOptions): JsonMode {
  return jsonEvents ? "events" : json ? "final" : null;
}

/** Opens the report of a run, listens to the signals that end it, and keeps memory small while it lasts. */
export function listenAndReport(
  options: ReportOptions,
  { terminal, clock, process }: CliContext,
  units: keyof typeof wholes = "trials",
): Disposable & { readonly reporter: RunReporter; readonly interrupts: Interrupts } {
  using opened = new DisposableStack();
  opened.use(boundYoungGeneration(clock));
  const reporter = opened.use(
    openRunReporter({ terminal, clock, json: jsonModeOf(options), quiet: options.quiet === true }),
  );
  const interrupts = opened.use(
    listenToInterrupts(
      process,
      (name) => reporter.say(`${name}: stopping the running ${units} and cleaning up; once more to stop waiting`),
      () =>
        reporter.say(
          units === "trials"
            ? "not waiting any longer; what may be left goes with: rollout clean"
            : "not waiting any longer",
        ),
      wholes[units],
    ),
  );
  const kept = opened.move();
  return { reporter, interrupts, [Symbol.dispose]: () => kept.dispose() };
}
