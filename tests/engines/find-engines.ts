import { messageOf } from "../../src/base/rollout-error.ts";
import { missingBaseImages } from "./base-image.ts";
import { openTestEngine } from "./open-test-engine.ts";

/** The variable that names the socket of the Podman that the tests may use. */
export const podmanSocketVariable = "ROLLOUT_TEST_PODMAN_SOCKET";

/** An engine that the tests know of. */
export interface TestEngine {
  readonly name: "docker" | "podman";
  /** Variables that lead to it. */
  readonly env: Readonly<Record<string, string>>;
  /** Why it cannot be used; null when it can. */
  readonly reason: string | null;
}

const engines: readonly Omit<TestEngine, "reason">[] = [
  { name: "docker", env: {} },
  {
    name: "podman",
    env: { DOCKER_HOST: `unix://${process.env[podmanSocketVariable] ?? "/run/podman/podman.sock"}` },
  },
];

/** The engines of this machine, each with the reason when the tests cannot use it. */
export function findEngines(): Promise<TestEngine[]> {
  return Promise.all(engines.map(async (engine) => ({ ...engine, reason: await whyNot(engine) })));
}

async function whyNot({ env, name }: Omit<TestEngine, "reason">): Promise<string | null> {
  try {
    const engine = await openTestEngine(env);
    try {
      const missing = await missingBaseImages(engine);
      return missing.length === 0 ? null : `the engine ${name} holds no image ${missing.join(", ")}`;
    } finally {
      engine.client[Symbol.dispose]();
    }
  } catch (error) {
    return messageOf(error);
  }
}
