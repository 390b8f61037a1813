// The first thing to type in a checkout: runs the hello-world job on this machine, building the command first if need be.
import { spawnSync } from "node:child_process";

const run = spawnSync("bin/rollout", ["examples/hello-world/job.yaml", ...process.argv.slice(2)], { stdio: "inherit" });
process.exit(run.status ?? 1);
