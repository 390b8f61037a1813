import { test } from "vitest";
import { resumeDockerKills } from "./docker-resume-kills.ts";

test(
  "jobs in containers that are killed 3 times at random moments come to the results of one that was not",
  { timeout: 600_000 },
  (context) => resumeDockerKills(context, 3, 20_260_402),
);
