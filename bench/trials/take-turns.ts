import { startCounting } from "./counts.ts";
import { rate, sumCosts, type Cost } from "./measure.ts";

/** Runs so many trials and tells what they cost. */
export type Contender = (trials: number, round: number) => Promise<Cost>;

export interface Turns {
  readonly inFlight: number;
  readonly rounds: number;
  readonly trials: number;
  /** A contender that cannot run here is null. */
  readonly contenders: Readonly<Record<string, Contender | null>>;
  /** Waits until nothing of the last contender is left that could be in the way of the next. */
  readonly between?: () => Promise<void>;
}

/** What each contender did: its costs by round, and the processes and calls of its last one. */
export interface Outcome {
  readonly costs: readonly Cost[];
  readonly processes: number;
  readonly calls: number;
}

/** Lets contenders take turns on the same machine, and prints what a trial of each has cost. */
export async function takeTurns({
  inFlight,
  rounds,
  trials,
  contenders,
  between,
}: Turns): Promise<ReadonlyMap<string, Outcome>> {
  const outcomes = new Map<string, Outcome>();
  for (let round = 0; round < rounds; round++) {
    // The first of a round finds another engine than the last, so they take turns.
    const order = Object.entries(contenders);
    for (const [name, run] of round % 2 === 0 ? order : order.toReversed()) {
      if (run === null) continue;
      await between?.();
      const stop = startCounting();
      const cost = await run(trials, round);
      const { programs, calls } = stop();
      outcomes.set(name, { costs: [...(outcomes.get(name)?.costs ?? []), cost], processes: programs.length, calls });
    }
  }
  console.log(`\n${inFlight} in flight, ${rounds} rounds of ${trials} trials each`);
  for (const [name, { costs, processes, calls }] of outcomes) {
    const total = sumCosts(costs);
    console.log(
      `  ${name.padEnd(7)} ${(1000 / rate(total)).toFixed(0).padStart(6)} ms per trial, ${(total.cpuMs / total.trials).toFixed(1)} ms CPU, ` +
        `${(processes / trials).toFixed(1)} processes and ${(calls / trials).toFixed(1)} calls`,
    );
  }
  return outcomes;
}
