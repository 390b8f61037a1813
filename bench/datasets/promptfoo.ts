import { findPeers } from "../../tests/peers/find-peers.ts";
import { startMeter } from "../trials/measure.ts";
import { takeOrder, type Order } from "./contender.ts";

type Evaluate = (
  suite: object,
  options: object,
) => Promise<{ toEvaluateSummary(): Promise<{ readonly results: readonly Row[] }> }>;

interface Row {
  readonly gradingResult?: { readonly componentResults?: readonly unknown[] } | null;
}

// Its own start of every evaluation, which the longer one is measured without.
const warmUpItems = 10;

await takeOrder(async (order) => {
  Object.assign(process.env, {
    PROMPTFOO_CONFIG_DIR: order.directory,
    PROMPTFOO_DISABLE_TELEMETRY: "1",
    PROMPTFOO_DISABLE_UPDATE: "1",
    PROMPTFOO_CACHE_ENABLED: "false",
    LOG_LEVEL: "error",
  });
  const peers = await findPeers(import.meta.dirname);
  if (peers === null) throw new Error("the peers are not installed");
  const { evaluate } = (await peers.load("promptfoo")) as { evaluate: Evaluate };
  await run(evaluate, order, warmUpItems);
  const short = await run(evaluate, order, warmUpItems);
  const long = await run(evaluate, order, order.items + warmUpItems);
  return {
    wallMs: long.wallMs - short.wallMs,
    cpuMs: long.cpuMs - short.cpuMs,
    results: long.results - warmUpItems,
    scores: long.scores - warmUpItems * order.scorers,
  };
});

async function run(evaluate: Evaluate, { scorers, store, inFlight }: Order, items: number) {
  const suite = {
    prompts: ["{{i}}"],
    providers: [async (prompt: string) => ({ output: prompt })],
    writeLatestResults: store === "file",
    tests: Array.from({ length: items }, (_, i) => ({
      vars: { i: String(i) },
      assert: Array.from({ length: scorers }, () => ({ type: "javascript", value: isRight })),
    })),
  };
  const stop = startMeter();
  const record = await evaluate(suite, { maxConcurrency: inFlight, cache: false, showProgressBar: false });
  const { wallMs, cpuMs } = stop(items);
  const { results } = await record.toEvaluateSummary();
  const scores = results.reduce((sum, row) => sum + (row.gradingResult?.componentResults?.length ?? 0), 0);
  return { wallMs, cpuMs, results: results.length, scores };
}

function isRight(output: string, { vars }: { readonly vars: { readonly i: string } }): number {
  return output === vars.i ? 1 : 0;
}
