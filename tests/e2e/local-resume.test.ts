import { test } from "vitest";
import { openLocalRig } from "./local-rig.ts";
import { resumeLocalKills } from "./local-resume-kills.ts";

const rig = await openLocalRig();

test(
  "jobs that are killed 20 times at random moments come to the results of one that was not",
  { timeout: 600_000 },
  () => resumeLocalKills(rig, 20, 20_260_401),
);
