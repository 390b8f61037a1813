import { describe, test } from "vitest";
import { missingNeeds } from "../../src/environments/conformance/conformance-case.ts";
import { conformanceCases } from "../../src/environments/conformance/conformance-cases.ts";
import { runConformanceCase } from "../../src/environments/conformance/run-conformance-case.ts";
import { openDocker } from "./docker/open-docker.ts";
import { findEngines } from "../engines/find-engines.ts";

const image = "debian:bookworm-slim";

for (const { name, env, reason } of await findEngines()) {
  describe(`the docker provider keeps the contract on ${name}`, async () => {
    const { capabilities } = await openDocker(env);
    for (const entry of conformanceCases) {
      const missing = missingNeeds(entry, capabilities);
      test(entry.title, async (context) => {
        if (reason !== null) context.skip(reason);
        if (missing.length > 0) context.skip(`needs ${missing.join(", ")}`);
        await runConformanceCase(entry, {
          open: async () => ({ provider: await openDocker(env), scratch: "/scratch" }),
          task: { dockerImage: image },
          baseImage: image,
          patienceMs: 60_000,
          signal: context.signal,
        });
      });
    }
  });
}
