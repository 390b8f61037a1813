import { RolloutError } from "../../base/rollout-error.ts";
import { findTool } from "../../base/find-tool.ts";
import type { EnterRequest, Entrance } from "../environment.ts";
import { hasStatus, wrapEngineError } from "./connection/engine-error.ts";
import type { DockerGround } from "./docker-ground.ts";
import { isKept } from "./list-containers.ts";

const never = new AbortController().signal;

interface ContainerAnswer {
  readonly Id: string;
  readonly Name: string;
  readonly State: { readonly Running: boolean };
}

/** Starts a container that was kept and says how the engine's own command opens a shell in it. */
export async function enterContainer(ground: DockerGround, request: EnterRequest): Promise<Entrance> {
  const { id, isTerminal, signal } = request;
  const { host, engine } = ground;
  const tool = findTool("docker", host.env["PATH"] ?? "") ?? findTool("podman", host.env["PATH"] ?? "");
  if (tool === null) {
    throw new RolloutError(
      "unsupported",
      "a shell in a container takes the docker command, which is not on your PATH",
      {
        hint: "install the docker command; the engine itself is there",
      },
    );
  }
  const found = await inspect(ground, id, signal);
  if (found.State.Running) {
    const why = isKept({ Id: found.Id, Names: [found.Name], Labels: null })
      ? "somebody is in it already"
      : "it is still in use";
    throw new RolloutError("already_exists", `${id} cannot be entered: ${why}`);
  }
  try {
    await engine.client.text({ method: "POST", path: `/containers/${found.Id}/start`, signal });
  } catch (error) {
    signal.throwIfAborted();
    throw wrapEngineError(error, "environment_start_failed", `starting ${id} again`);
  }
  const env = Object.fromEntries(
    Object.entries(host.env).filter((pair): pair is [string, string] => pair[1] !== undefined),
  );
  return {
    command: [tool, "exec", isTerminal ? "-it" : "-i", found.Id, "bash"],
    env,
    async [Symbol.asyncDispose]() {
      const path = `/containers/${found.Id}/kill`;
      await engine.client.text({ method: "POST", path, signal: never }).catch(() => {});
    },
  };
}

async function inspect({ engine }: DockerGround, id: string, signal: AbortSignal): Promise<ContainerAnswer> {
  try {
    const path = `/containers/${encodeURIComponent(id)}/json`;
    return await engine.client.json<ContainerAnswer>({ method: "GET", path, signal });
  } catch (error) {
    signal.throwIfAborted();
    if (hasStatus(error, 404))
      throw new RolloutError("not_found", `the engine has no container ${id}`, { cause: error });
    throw wrapEngineError(error, "provider_unavailable", `looking for ${id}`);
  }
}
