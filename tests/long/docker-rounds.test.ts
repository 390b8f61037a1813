import { conformanceCases } from "../../src/environments/conformance/conformance-cases.ts";
import { findEngines } from "../engines/find-engines.ts";
import { describeRounds, type Round } from "../providers/docker/describe-rounds.ts";

const touchesFiles = /place|cop(y|ied)|file|link|remov|frozen|stopped|destroyed/;
const fileCases = conformanceCases.filter(({ title }) => touchesFiles.test(title));
// What is in the logs is in no snapshot.
const logCases = fileCases.filter(({ needs }) => !needs.includes("snapshots"));

await describeRounds(
  (await findEngines()).flatMap((engine): Round[] => {
    if (engine.name === "podman") return [{ engine, where: "", scratch: "/scratch", cases: conformanceCases }];
    return [
      // Where the logs of a container are a directory of this machine.
      { engine, where: ", in its logs", scratch: "/logs/scratch", cases: logCases },
      // Where nothing of a container can be reached but by the engine.
      { engine, where: ", by archives alone", scratch: "/scratch", uid: 1, cases: fileCases },
    ];
  }),
);
