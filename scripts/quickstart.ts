// The first thing to type in a checkout: builds the command and runs the hello-world job on this machine.
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";

const node = process.execPath;
if (!existsSync("dist/.built")) {
  const built = spawnSync(node, ["scripts/build.ts"], { stdio: ["ignore", "inherit", "inherit"] });
  if (built.status !== 0) process.exit(built.status ?? 1);
}
const run = spawnSync(node, ["dist/bin.js", "examples/hello-world/job.yaml", ...process.argv.slice(2)], {
  stdio: "inherit",
});
process.exit(run.status ?? 1);
