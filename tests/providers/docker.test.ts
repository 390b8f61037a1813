import { conformanceCases } from "../../src/environments/conformance/conformance-cases.ts";
import { lifeCases } from "../../src/environments/conformance/life-cases.ts";
import { findEngines } from "../engines/find-engines.ts";
import { describeRounds } from "./docker/describe-rounds.ts";

// Podman goes through all of them in the long tests; here it shows that it lives, runs commands and gives files back.
const casesOf = { docker: conformanceCases, podman: lifeCases };

await describeRounds(
  (await findEngines()).map((engine) => ({
    engine,
    where: "",
    scratch: "/scratch",
    cases: casesOf[engine.name],
  })),
);
