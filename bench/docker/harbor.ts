import { spawn, spawnSync } from "node:child_process";

/** Harbor's own command on the same tasks. */
export interface Harbor {
  readonly version: string;
  run(trials: number, inFlight: number): Promise<void>;
}

/** The `harbor` of this machine, or why there is none. */
export function openHarbor(directory: string, dataset: string): Harbor | string {
  const { status, stdout } = spawnSync("harbor", ["--version"], { encoding: "utf8" });
  if (status !== 0) return "it is not installed, so it was not measured";
  return {
    version: stdout.trim(),
    run(trials, inFlight) {
      const args = ["run", "-p", dataset, "-a", "oracle", "-e", "docker", "-o", directory];
      const child = spawn("harbor", [...args, "-n", String(inFlight), "-k", String(trials)], { stdio: "ignore" });
      return new Promise((resolve, reject) => {
        child.once("error", reject);
        child.once("close", (code) => (code === 0 ? resolve() : reject(new Error(`harbor ended with ${code}`))));
      });
    },
  };
}
