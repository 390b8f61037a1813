import { describe, test } from "vitest";
import { missingNeeds } from "../../src/environments/conformance/conformance-case.ts";
import { conformanceCases } from "../../src/environments/conformance/conformance-cases.ts";
import { runConformanceCase } from "../../src/environments/conformance/run-conformance-case.ts";
import type { EnvironmentProvider } from "../../src/environments/environment.ts";
import { openDocker } from "./docker/open-docker.ts";
import { cannotRun } from "../e2e/rollout-cli.ts";
import { findEngines } from "../engines/find-engines.ts";

const image = "debian:bookworm-slim";

const touchesFiles = /place|cop(y|ied)|file|link|remov|frozen|stopped|destroyed/;
const rounds = (await findEngines()).flatMap((engine) => [
  { ...engine, where: "", scratch: "/scratch", cases: conformanceCases },
  // Where the logs of a container are a directory of this machine.
  {
    ...engine,
    where: ", in its logs",
    scratch: "/logs/scratch",
    cases: engine.name === "docker" ? conformanceCases.filter(({ title }) => touchesFiles.test(title)) : [],
  },
]);

for (const { name, env, reason, where, scratch, cases } of rounds.filter(({ cases }) => cases.length > 0)) {
  describe(`the docker provider keeps the contract on ${name}${where}`, async () => {
    const { capabilities } = await openDocker(env);
    for (const entry of cases) {
      const missing = missingNeeds(entry, capabilities);
      test(entry.title, async (context) => {
        if (reason !== null) cannotRun(context, reason);
        if (missing.length > 0) context.skip(`needs ${missing.join(", ")}`);
        await runConformanceCase(entry, {
          open: async () => {
            const provider = await openDocker(env);
            // The first container of an image tells whether it brings logs of its own.
            if (where !== "") await createAndDestroy(provider);
            return { provider, scratch };
          },
          task: { dockerImage: image },
          baseImage: image,
          patienceMs: 60_000,
          signal: context.signal,
        });
      });
    }
  });
}

async function createAndDestroy(provider: EnvironmentProvider): Promise<void> {
  const { signal } = new AbortController();
  const limits = { cpus: 1, memoryBytes: 512 * 2 ** 20, storageBytes: 2 ** 30 };
  const place = [{ kind: "directory", target: "/logs/agent" }] as const;
  const request = { image, name: `first-${crypto.randomUUID()}`, limits, place, labels: {}, signal };
  await (await provider.createEnvironment(request)).destroy(signal);
}
