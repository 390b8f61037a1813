import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { TestContext } from "vitest";
import { collect } from "../../../src/environments/conformance/run-command.ts";
import type { EnvironmentProvider } from "../../../src/environments/environment.ts";
import { cannotRun } from "../../e2e/rollout-cli.ts";
import { adminKubeconfig, addresses, registryLogin } from "../../kubernetes-rig/cluster-places.ts";
import type { TestCluster } from "../../kubernetes-rig/find-cluster.ts";
import { makeDirectory, testLimits } from "./cluster-room.ts";

const never = new AbortController().signal;

/** Leaves a test that needs the registries of our own cluster. */
export function needsOwnRegistry(context: TestContext, { reason, env }: TestCluster): void {
  if (reason !== null) cannotRun(context, reason);
  if (env["KUBECONFIG"] !== adminKubeconfig) cannotRun(context, "only our own cluster has a registry for the tests");
}

/** The logins of the private registry, as `docker login` stores them; also what a secret of a cluster holds. */
export const privateLogins = JSON.stringify({
  auths: {
    [addresses.privateRegistry]: {
      auth: Buffer.from(`${registryLogin.username}:${registryLogin.password}`).toString("base64"),
    },
  },
});

/** A folder in which the docker command finds the login of the private registry. */
export async function makeLogins(): Promise<string> {
  const directory = await makeDirectory();
  await writeFile(join(directory, "config.json"), privateLogins);
  return directory;
}

export interface BuildTaskOptions {
  readonly files?: Readonly<Record<string, string>>;
  readonly labels?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
  /** Told of all that was said so far. */
  readonly onOutput?: (text: string) => void;
}

/** Builds a task with that Dockerfile. */
export async function buildTask(
  provider: EnvironmentProvider,
  dockerfile: string,
  { files = {}, labels = {}, signal = never, onOutput = () => {} }: BuildTaskOptions = {},
): Promise<{ readonly image: string; readonly log: string }> {
  const contextDir = join(await makeDirectory(), "environment");
  await mkdir(contextDir);
  for (const [name, text] of Object.entries({ ...files, Dockerfile: dockerfile })) {
    await writeFile(join(contextDir, name), text);
  }
  const task = { taskName: "t", contextDir, dockerImage: null, forceBuild: false, limits: testLimits };
  const { image: plan, problems } = await provider.checkTask(task, never);
  if (plan?.kind !== "build") throw new Error(problems.join("; "));
  const all = collect();
  const output = {
    write(chunk: Uint8Array) {
      void all.write(chunk);
      onOutput(all.text());
    },
  };
  return { image: await provider.buildImage({ plan, output, labels, signal }), log: all.text() };
}
