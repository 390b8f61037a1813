import { test } from "vitest";
import { openLocalRig } from "../e2e/local-rig.ts";
import { soakFullDisk, soakLocal } from "../e2e/local-soak.ts";

const rig = await openLocalRig();

test("2,000 trials to which things happen end as they should, leave nothing and do not grow", () =>
  soakLocal(rig, 2000, 20_260_503));

test("a disk that fills 40 times under 400 trials costs no result and leaves nothing", (context) =>
  soakFullDisk({ context, rig, trials: 400, fills: 40, seed: 20_260_504 }));
