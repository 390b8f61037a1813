// Everything in short form: the static checks, then every test but the long ones. Ends with one line that counts them.
import { spawnSync } from "node:child_process";
import { readFileSync, rmSync } from "node:fs";
import { startEngines } from "../tests/engines/start-engines.ts";
import { hasBinary } from "../tests/kubernetes-rig/build-binary.ts";
import { clusterVariable } from "../tests/kubernetes-rig/find-cluster.ts";
import { whyNoCluster } from "../tests/kubernetes-rig/start-cluster.ts";
import { useCluster, type UsedCluster } from "../tests/kubernetes-rig/use-cluster.ts";
import { installPeers } from "../tests/peers/install-peers.ts";
import { installPythonTools } from "../tests/sdk/install-python-tools.ts";
import { tool } from "./run-steps.ts";

const node = process.execPath;
const projects = process.argv.includes("--long") ? ["long"] : ["unit", "house", "alone"];
const report = ".runtime/test-report.json";

let engineVariables: Readonly<Record<string, string>> = {};

function run(...args: string[]): boolean {
  const env = { ...process.env, ...engineVariables, ...(process.stdout.isTTY ? {} : { NO_COLOR: "1" }) };
  return spawnSync(node, args, { stdio: ["ignore", "inherit", "inherit"], env }).status === 0;
}

const isClean = run("scripts/check.ts", "--static");
rmSync(report, { force: true });
// Elsewhere the tests use the engines that answer and the peers that are there; here they have to be had.
const engines = isClean && process.env["CI"] === "true" ? await startEngines() : null;
engineVariables = engines?.env ?? {};
for (const problem of engines?.problems ?? []) console.log(`no engine: ${problem}`);
const peerProblem = engines === null ? null : installPeers("tests/peers");
if (peerProblem !== null) console.log(`no peers: ${peerProblem}`);
const pythonProblem = engines === null ? null : installPythonTools();
if (pythonProblem !== null) console.log(`no tools for Python: ${pythonProblem}`);
const cluster = isClean ? await startKubernetes() : null;
if (cluster !== null) engineVariables = { ...engineVariables, [clusterVariable]: cluster.kubeconfig };
const isGreen =
  isClean &&
  run(
    tool("vitest"),
    "run",
    ...projects.flatMap((name) => ["--project", name]),
    "--reporter=dot",
    "--reporter=json",
    `--outputFile.json=${report}`,
  );

await cluster?.leave();
await engines?.stop();

const counts = { passed: 0, failed: isClean ? 0 : 1, skipped: 0 };
if (isClean) countTests();
console.log(`${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped`);
process.exit(isGreen && counts.failed === 0 && counts.passed > 0 ? 0 : 1);

// Only what is there already: building it takes minutes, and nobody's own cluster is used unasked.
async function startKubernetes(): Promise<UsedCluster | null> {
  if (process.env[clusterVariable] || !hasBinary() || whyNoCluster() !== null) return null;
  try {
    return await useCluster();
  } catch (error) {
    console.log(`no engine: kubernetes: ${error instanceof Error ? error.message : String(error)}`);
    return null;
  }
}

interface Report {
  readonly testResults: readonly {
    readonly name: string;
    readonly status: string;
    readonly assertionResults: readonly {
      readonly status: string;
      readonly fullName: string;
      readonly meta: { readonly notRun?: string };
    }[];
  }[];
}

function countTests(): void {
  const { testResults } = JSON.parse(readFileSync(report, "utf8")) as Report;
  for (const file of testResults) {
    // A file that fails to load has no tests and is a failure all the same.
    if (file.status === "failed" && file.assertionResults.length === 0) counts.failed++;
    for (const { status, fullName, meta } of file.assertionResults) {
      if (status === "passed") counts.passed++;
      else if (status === "failed") counts.failed++;
      else {
        counts.skipped++;
        console.log(`not run: ${fullName}${meta.notRun === undefined ? "" : `: ${meta.notRun}`}`);
      }
    }
  }
}
