import { spawnSync } from "node:child_process";
import { existsSync, globSync, mkdirSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { cacheDir } from "./cluster-places.ts";

const wanted = ["containerd", "runc", "containernetworking-plugins", "docker-registry"];

/** Debian packages that a node needs, unpacked and not installed; where they lie. */
export function fetchPackages(): string {
  const root = join(cacheDir, "packages");
  if (existsSync(root)) return root;
  const work = `${root}.new`;
  rmSync(work, { recursive: true, force: true });
  mkdirSync(join(work, "debs"), { recursive: true });
  const download = ["-qq", "-o", "APT::Sandbox::User=root", "download", ...wanted];
  if (!run("apt-get", download, join(work, "debs"))) {
    run("apt-get", ["-qq", "update"], work);
    if (!run("apt-get", download, join(work, "debs"))) throw new Error(`apt cannot download ${wanted.join(", ")}`);
  }
  for (const file of globSync("debs/*.deb", { cwd: work })) {
    if (!run("dpkg", ["-x", file, "."], work)) throw new Error(`${file} cannot be unpacked`);
  }
  renameSync(work, root);
  return root;
}

function run(program: string, args: readonly string[], cwd: string): boolean {
  return spawnSync(program, args, { cwd, stdio: ["ignore", "ignore", "ignore"] }).status === 0;
}
