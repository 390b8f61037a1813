import { existsSync } from "node:fs";
import { resolve } from "node:path";
import type { Problem } from "../../base/problem.ts";
import { RolloutError } from "../../base/rollout-error.ts";
import { describeUnknown } from "../../base/suggest.ts";
import { hasStatus, wrapEngineError } from "./connection/engine-error.ts";
import type { Engine } from "./connection/open-engine.ts";
import type { DockerGround } from "./docker-ground.ts";

// Ways of having a network that are no networks.
const networkModes = /^(default|host|none|private|bridge|ns:.*|(bridge|pasta|slirp4netns):.*|pasta|slirp4netns)$/;

/** Rejects with `config_invalid` when the engine lacks something that the settings name, with a problem for each. */
export async function checkSettings(ground: DockerGround, signal: AbortSignal): Promise<void> {
  try {
    const problems = [...(await networkProblems(ground, signal)), ...runtimeProblems(ground), ...mountProblems(ground)];
    if (problems.length === 0) return;
    throw new RolloutError(
      "config_invalid",
      "provider_config names what the engine does not have; nothing was started",
      {
        problems,
      },
    );
  } catch (error) {
    signal.throwIfAborted();
    throw wrapEngineError(error, "provider_unavailable", "asking the engine about its settings");
  }
}

async function networkProblems({ engine, config }: DockerGround, signal: AbortSignal): Promise<Problem[]> {
  const { network } = config;
  if (network === undefined || networkModes.test(network)) return [];
  const container = /^container:(.*)$/.exec(network)?.[1];
  if (container !== undefined) {
    const isThere = await exists(engine, `/containers/${encodeURIComponent(container)}/json`, signal);
    return isThere ? [] : [problemAt("network", `the engine has no container ${JSON.stringify(container)}`)];
  }
  if (await exists(engine, `/networks/${encodeURIComponent(network)}`, signal)) return [];
  const known = await engine.client.json<{ readonly Name: string }[]>({ method: "GET", path: "/networks", signal });
  const names = known.map(({ Name }) => Name).sort();
  const message = `${describeUnknown(`network ${JSON.stringify(network)}`, network, names)}; make it with: ${engine.product} network create ${network}`;
  return [problemAt("network", message)];
}

function runtimeProblems({ engine, config }: DockerGround): Problem[] {
  const { runtime } = config;
  // A name with dots or slashes is that of a program, which only the engine can look for.
  if (runtime === undefined || engine.runtimes === null || /[./]/.test(runtime)) return [];
  if (engine.runtimes.includes(runtime)) return [];
  return [problemAt("runtime", describeUnknown(`runtime ${JSON.stringify(runtime)}`, runtime, engine.runtimes))];
}

// Elsewhere nobody but the engine knows its files.
function mountProblems({ engine, config, baseDir }: DockerGround): Problem[] {
  if (!engine.runsHere) return [];
  return config.mounts.flatMap(({ type, source }, index): Problem[] => {
    const path = type === "bind" && source !== undefined ? resolve(baseDir, source) : null;
    return path === null || existsSync(path) ? [] : [problemAt(`mounts[${index}].source`, `${path} does not exist`)];
  });
}

async function exists(engine: Engine, path: string, signal: AbortSignal): Promise<boolean> {
  try {
    await engine.client.text({ method: "GET", path, signal });
    return true;
  } catch (error) {
    if (hasStatus(error, 404)) return false;
    throw error;
  }
}

function problemAt(path: string, message: string): Problem {
  return { file: "provider_config", path, message, severity: "error" };
}
