// The first thing to type in a checkout: runs the hello-world job on this machine, building the command first if need be.
import { spawnSync } from "node:child_process";

const job = ["examples/hello-world/job.yaml", ...process.argv.slice(2)];
const usage = 2;

interface Findings {
  readonly environments: readonly { readonly type: string; readonly works: boolean | null }[];
}

function rollout(args: readonly string[]): number {
  return spawnSync("bin/rollout", args, { stdio: "inherit" }).status ?? 1;
}

/** Which environments this machine can run; their own words about why not are for `rollout doctor`. */
function readFindings(): Map<string, boolean | null> {
  const { stdout } = spawnSync("bin/rollout", ["doctor", "--json"], { encoding: "utf8" });
  const { environments } = JSON.parse(stdout) as Findings;
  return new Map(environments.map(({ type, works }) => [type, works]));
}

function run(): number {
  const code = rollout(job);
  if (code !== usage) return code;
  const findings = readFindings();
  if (findings.get("local") !== false || findings.get("docker") !== true) return code;
  console.error("\nA Docker engine answers: the same job in its containers.\n");
  return rollout([...job, "--set", "environment.type=docker", "--set", "environment.provider_config={}"]);
}

const code = run();
if (code === 0) console.error('here the command is ./bin/rollout; export PATH="$PWD/bin:$PATH" makes it rollout');
process.exit(code);
