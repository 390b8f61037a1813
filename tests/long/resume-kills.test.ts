import { test } from "vitest";
import { resumeDockerKills } from "../e2e/docker-resume-kills.ts";
import { openLocalRig } from "../e2e/local-rig.ts";
import { resumeLocalKills } from "../e2e/local-resume-kills.ts";

const rig = await openLocalRig();

test("200 kills on this machine lose nothing, repeat nothing and leave nothing", () =>
  resumeLocalKills(rig, 200, 20_260_403));

test("30 kills of jobs in containers lose nothing, repeat nothing and leave nothing", (context) =>
  resumeDockerKills(context, 30, 20_260_404));
