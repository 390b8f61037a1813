import { randomUUID } from "node:crypto";
import { chmod, mkdir } from "node:fs/promises";
import { join } from "node:path";
import { messageOf, RolloutError } from "../../../src/base/rollout-error.ts";
import type {
  CreateEnvironmentRequest,
  EnvironmentProvider,
  TaskEnvironment,
} from "../../../src/environments/environment.ts";
import type { Defect } from "./defect.ts";
import { HostShellEnvironment } from "./host-shell-environment.ts";

/** What the ids of all environments of this process start with. */
export const idPrefix = `host-shell-${process.pid}-`;

const isRoot = process.getuid?.() === 0;

/** A provider of real processes without any isolation; it exists to try the conformance suite on a real shell. */
export async function openHostShellProvider(
  tempDir: string,
  defects: readonly Defect[] = [],
): Promise<EnvironmentProvider> {
  const broken: ReadonlySet<Defect> = new Set(defects);
  const environments: HostShellEnvironment[] = [];
  const living = () => environments.filter((environment) => !environment.isDestroyed);
  // Other users have to get through to what is placed for them.
  await chmod(tempDir, 0o755);

  async function createEnvironment({ name, labels, place, signal }: CreateEnvironmentRequest) {
    signal.throwIfAborted();
    const workdir = join(tempDir, "work", name);
    await mkdir(workdir, { recursive: true });
    const environment = new HostShellEnvironment(`${idPrefix}${randomUUID()}`, workdir, labels, broken);
    await environment.copyTo(place, signal).catch((cause: unknown) => {
      throw new RolloutError("environment_start_failed", messageOf(cause), { cause });
    });
    environments.push(environment);
    return environment;
  }

  return {
    name: "host-shell",
    capabilities: {
      shell: true,
      users: isRoot,
      owners: isRoot,
      stop: true,
      freeze: true,
      limits: { cpus: "none", memory: "none", storage: "none" },
      network: [],
    },
    async probe(signal) {
      signal.throwIfAborted();
      return [];
    },
    async checkTask(task: TaskEnvironment) {
      if (task.forceBuild) return { problems: ["host-shell builds nothing"], warnings: [], image: null };
      const warnings = task.contextDir === null ? [] : ["host-shell ignores the Dockerfile"];
      return { problems: [], warnings, image: { kind: "base", key: "host", ref: "host" } };
    },
    buildImage: () => Promise.reject(new RolloutError("image_build_failed", "host-shell builds nothing")),
    pullImage: () => Promise.reject(new RolloutError("image_pull_failed", "host-shell pulls nothing")),
    createEnvironment,
    async findEnvironments(labels) {
      const wanted = broken.has("ignores labels") ? [] : Object.entries(labels);
      return living().filter((environment) => wanted.every(([key, value]) => environment.labels[key] === value));
    },
    async enter({ id }) {
      const environment = living().find((entry) => entry.id === id);
      if (environment === undefined) throw new RolloutError("not_found", `there is no ${id}`);
      const command = ["bash", "-c", `cd ${environment.workdir}; exec bash`];
      return { command, env: { PATH: process.env["PATH"] ?? "" }, [Symbol.asyncDispose]: async () => {} };
    },
    removeCommand: () => null,
    async removeEnvironment(id) {
      await living()
        .find((environment) => environment.id === id)
        ?.destroy();
    },
    async [Symbol.asyncDispose]() {
      for (const environment of environments) await environment.end();
    },
  };
}
