import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  copyFileSync,
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { cacheDir } from "./cluster-places.ts";

/** The version that the tests run on. */
const version = "v1.34.4";
const source = fileURLToPath(new URL("./cluster-binary", import.meta.url));
const parts = ["kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubelet", "kubectl", "etcd"];

/** Where the programs of a cluster lie once they were built. */
export function binaryDir(): string {
  const hash = createHash("sha256").update(version);
  for (const file of globSync("**/*.go", { cwd: source }).sort()) hash.update(readFileSync(join(source, file)));
  return join(cacheDir, `kubernetes-${version}-${hash.digest("hex").slice(0, 12)}`);
}

/** True when they were built already. */
export function hasBinary(): boolean {
  return existsSync(join(binaryDir(), "pause"));
}

/** Builds the programs of a cluster from the Go modules that Kubernetes publishes; takes minutes, once per user. */
export function buildBinary(say: (line: string) => void): void {
  const target = binaryDir();
  if (hasBinary()) return;
  mkdirSync(cacheDir, { recursive: true });
  const work = mkdtempSync(join(cacheDir, "build-"));
  try {
    cpSync(source, work, { recursive: true });
    say(`building Kubernetes ${version}, once for this user; takes 5 to 30 minutes`);
    writeModule(work);
    const flags = ["k8s.io/component-base/version", "k8s.io/client-go/pkg/version"].flatMap((path) => [
      `-X ${path}.gitVersion=${version}`,
      `-X ${path}.gitMajor=1`,
      `-X ${path}.gitMinor=${version.split(".")[1]}`,
      `-X ${path}.gitTreeState=clean`,
    ]);
    const build = ["build", "-trimpath", "-gcflags=all=-dwarf=false", "-ldflags", ["-s -w", ...flags].join(" ")];
    const out = join(work, "out");
    mkdirSync(out);
    go(work, [...build, "-o", join(out, "cluster"), "."]);
    go(work, ["build", "-trimpath", "-ldflags", "-s -w", "-o", join(out, "pause"), "./pause"]);
    for (const part of parts) symlinkSync("cluster", join(out, part));
    renameSync(out, target);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

// Its own list of modules, with the parts that it keeps in its tree taken from where they are published.
function writeModule(work: string): void {
  const found = JSON.parse(go(work, ["mod", "download", "-json", `k8s.io/kubernetes@${version}`])) as { Dir: string };
  const text = readFileSync(join(found.Dir, "go.mod"), "utf8");
  const staging = version.replace("v1.", "v0.");
  const head = [...text.matchAll(/^(?:go|godebug) .*$/gm)].map(([line]) => line);
  const required = [...text.matchAll(/^require \([^]*?^\)/gm)].map(([block]) =>
    block.replaceAll(/^(\tk8s\.io\/[a-z-]+) v0\.0\.0(?=\s|$)/gm, `$1 ${staging}`),
  );
  const replaced = [...text.matchAll(/^\t(k8s\.io\/[a-z-]+) => \.\/staging\/.*$/gm)].map(
    ([, name]) => `\t${name} => ${name} ${staging}`,
  );
  const module = [
    "module cluster",
    ...head,
    `require k8s.io/kubernetes ${version}`,
    ...required,
    "replace (",
    ...replaced,
    ")",
  ];
  writeFileSync(join(work, "go.mod"), `${module.join("\n\n").replaceAll("\n\n\t", "\n\t")}\n`);
  copyFileSync(join(found.Dir, "go.sum"), join(work, "go.sum"));
}

/** Runs the Go command, out of the way of others; gives what it printed. */
export function go(cwd: string, args: readonly string[], mod = "mod"): string {
  const flags = `-mod=${mod} -buildvcs=false`;
  const env = { ...process.env, CGO_ENABLED: "0", GOTOOLCHAIN: "local", GOFLAGS: flags, GOGC: "300" };
  const { status, stdout, error } = spawnSync("nice", ["go", ...args], {
    cwd,
    env,
    encoding: "utf8",
    maxBuffer: 2 ** 28,
    stdio: ["ignore", "pipe", "inherit"],
  });
  if (status !== 0) throw new Error(`go ${args[0]} failed: ${error?.message ?? `exit code ${status}`}`);
  return stdout;
}
