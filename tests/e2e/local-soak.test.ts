import { test } from "vitest";
import { openLocalRig } from "./local-rig.ts";
import { soakFullDisk, soakLocal } from "./local-soak.ts";

const rig = await openLocalRig();
// Only a hang takes this long, however busy the machine is.
const limitMs = 900_000;

test(
  "200 trials to which things happen end as they should, leave nothing and do not grow",
  () => soakLocal(rig, 200, 20_260_501),
  limitMs,
);

test(
  "a disk that fills 4 times under 40 trials costs no result and leaves nothing",
  (context) => soakFullDisk({ context, rig, trials: 40, fills: 4, seed: 20_260_502 }),
  limitMs,
);
