import type { Bars } from "../trials/bars.ts";
import { median } from "../trials/measure.ts";
import type { Outcome } from "./contender.ts";
import type { Costs } from "./costs.ts";

const wanted: readonly { readonly name: string; readonly store: string; readonly bar: number }[] = [
  { name: "mastra", store: "memory", bar: 10 },
  { name: "mastra", store: "file", bar: 50 },
  { name: "evalite", store: "memory", bar: 20 },
  { name: "evalite", store: "file", bar: 20 },
  { name: "promptfoo", store: "none", bar: 100 },
  { name: "promptfoo", store: "file", bar: 100 },
];

/** Holds ours against the others with one scorer, round by round. */
export function judgeRatios(costs: Costs, bars: Bars): void {
  console.log("\nratios with one scorer, medians of the rounds");
  for (const { name, store, bar } of wanted) {
    const ours = costs.get(`ours ${store} 1`) ?? [];
    const theirs = costs.get(`${name} ${store} 1`) ?? [];
    if (theirs.length === 0) continue;
    const ratio = (of: (outcome: Outcome) => number): number[] =>
      theirs.flatMap((their) => {
        const our = ours.find(({ round }) => round === their.round);
        return our === undefined ? [] : [of(their) / their.items / (of(our) / our.items)];
      });
    const wall = ratio(({ wallMs }) => wallMs);
    const cpu = median(ratio(({ cpuMs }) => cpuMs));
    const range = `${Math.min(...wall).toFixed(0)} to ${Math.max(...wall).toFixed(0)}`;
    const text = `${median(wall).toFixed(0)} x ${name}'s items/s (${range}), ${store}; ${cpu.toFixed(0)} x less CPU (bar: ${bar})`;
    bars.report(text, median(wall) >= bar);
  }
}

/** Says how much of a run with one scorer a store does not have; ours may lose nothing. */
export function judgeLosses(name: string, inFlight: number, { items, results, scores }: Outcome, bars: Bars): void {
  const text = `${name}, ${inFlight} in flight: ${items - results} of ${items} results and ${items - scores} scores lost`;
  if (name === "ours") bars.report(text, results === items && scores === items);
  else console.log(`  ${text}`);
}

/** How many times the items of another one ours runs in the same time, on the wall and of the processors. */
export function compare(ours: Outcome, theirs: Outcome): string {
  const ratio = (of: (outcome: Outcome) => number): string =>
    (of(theirs) / theirs.items / (of(ours) / ours.items)).toFixed(0);
  return `${ratio(({ wallMs }) => wallMs)} x items/s, ${ratio(({ cpuMs }) => cpuMs)} x less CPU`;
}
