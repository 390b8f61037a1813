// Draws the picture of the README: what `npm run quickstart` prints, as an SVG of a terminal 100 columns wide.
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { drawTerminal } from "./draw-terminal.ts";

const jobs = mkdtempSync(join(tmpdir(), "rollout-picture-"));
const look = { LC_ALL: "C.UTF-8", COLUMNS: "100", FORCE_COLOR: "1" };
const { stdout, status } = spawnSync(
  "bin/rollout",
  ["examples/hello-world/job.yaml", "--set", `jobs_dir=${jobs}`, "--set", "n_concurrent_trials=1"],
  { env: { ...process.env, ...look }, encoding: "utf8" },
);
rmSync(jobs, { recursive: true, force: true });
if (status !== 0) process.exit(status ?? 1);
mkdirSync("docs/pictures", { recursive: true });
const shown = `$ npm run quickstart\n\n${stdout.replaceAll(jobs, "jobs")}`;
writeFileSync("docs/pictures/quickstart.svg", drawTerminal(shown, 100));
