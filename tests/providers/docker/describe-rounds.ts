import { describe, test } from "vitest";
import { missingNeeds, type ConformanceCase } from "../../../src/environments/conformance/conformance-case.ts";
import { runConformanceCase } from "../../../src/environments/conformance/run-conformance-case.ts";
import { cannotRun } from "../../e2e/rollout-cli.ts";
import type { TestEngine } from "../../engines/find-engines.ts";
import { openDocker } from "./open-docker.ts";

const image = "debian:bookworm-slim";

/** Some cases of the contract on one engine. */
export interface Round {
  readonly engine: TestEngine;
  /** What is special about it; empty for the plain one. */
  readonly where: string;
  /** A directory of the containers. */
  readonly scratch: string;
  /** Whom the provider takes itself for; the caller when absent. */
  readonly uid?: number | undefined;
  readonly cases: readonly ConformanceCase[];
}

/** Declares the tests of some rounds. */
export async function describeRounds(rounds: readonly Round[]): Promise<void> {
  for (const { engine, where, scratch, uid, cases } of rounds) {
    const { capabilities } = await openDocker(engine.env);
    describe(`the docker provider keeps the contract on ${engine.name}${where}`, () => {
      for (const entry of cases) {
        const missing = missingNeeds(entry, capabilities);
        test(entry.title, async (context) => {
          if (engine.reason !== null) cannotRun(context, engine.reason);
          if (missing.length > 0) cannotRun(context, `needs ${missing.join(", ")}`);
          await runConformanceCase(entry, {
            open: async () => ({ provider: await openDocker(engine.env, {}, uid), scratch }),
            task: { dockerImage: image },
            baseImage: image,
            patienceMs: 60_000,
            signal: context.signal,
          });
        });
      }
    });
  }
}
