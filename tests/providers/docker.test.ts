import { describe, test } from "vitest";
import { missingNeeds } from "../../src/environments/conformance/conformance-case.ts";
import { conformanceCases } from "../../src/environments/conformance/conformance-cases.ts";
import { runConformanceCase } from "../../src/environments/conformance/run-conformance-case.ts";
import { openDocker } from "./docker/open-docker.ts";
import { cannotRun } from "../e2e/rollout-cli.ts";
import { findEngines } from "../engines/find-engines.ts";

const image = "debian:bookworm-slim";

const touchesFiles = /place|cop(y|ied)|file|link|remov|frozen|stopped|destroyed/;
const fileCases = conformanceCases.filter(({ title }) => touchesFiles.test(title));
const rounds = (await findEngines()).flatMap((engine) => [
  { ...engine, where: "", scratch: "/scratch", uid: undefined, cases: conformanceCases },
  // Where the logs of a container are a directory of this machine.
  {
    ...engine,
    where: ", in its logs",
    scratch: "/logs/scratch",
    uid: undefined,
    cases: engine.name === "docker" ? fileCases : [],
  },
  // Where nothing of a container can be reached but by the engine.
  {
    ...engine,
    where: ", by archives alone",
    scratch: "/scratch",
    uid: 1,
    cases: engine.name === "docker" ? fileCases : [],
  },
]);

for (const { name, env, reason, where, scratch, uid, cases } of rounds.filter(({ cases }) => cases.length > 0)) {
  describe(`the docker provider keeps the contract on ${name}${where}`, async () => {
    const { capabilities } = await openDocker(env);
    for (const entry of cases) {
      const missing = missingNeeds(entry, capabilities);
      test(entry.title, async (context) => {
        if (reason !== null) cannotRun(context, reason);
        if (missing.length > 0) context.skip(`needs ${missing.join(", ")}`);
        await runConformanceCase(entry, {
          open: async () => ({ provider: await openDocker(env, {}, uid), scratch }),
          task: { dockerImage: image },
          baseImage: image,
          patienceMs: 60_000,
          signal: context.signal,
        });
      });
    }
  });
}
