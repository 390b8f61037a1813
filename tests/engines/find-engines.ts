import { messageOf } from "../../src/base/rollout-error.ts";
import { openDocker } from "../providers/docker/open-docker.ts";

/** An engine that the tests know of. */
export interface TestEngine {
  readonly name: string;
  /** Variables that lead to it. */
  readonly env: Readonly<Record<string, string>>;
  /** Why it cannot be used; null when it can. */
  readonly reason: string | null;
}

const sockets: readonly { readonly name: string; readonly env: Readonly<Record<string, string>> }[] = [
  { name: "docker", env: {} },
  {
    name: "podman",
    env: { DOCKER_HOST: `unix://${process.env["ROLLOUT_PODMAN_SOCKET"] ?? "/run/podman/podman.sock"}` },
  },
];

/** The engines of this machine, each with the reason when it does not answer. */
export async function findEngines(): Promise<TestEngine[]> {
  return Promise.all(
    sockets.map(async ({ name, env }) => {
      await using provider = await openDocker(env);
      const reason = await provider.probe(new AbortController().signal).then(
        () => null,
        (error: unknown) => `no ${name} engine: ${messageOf(error)}`,
      );
      return { name, env, reason };
    }),
  );
}
