import { findTool } from "../../base/find-tool.ts";
import { RolloutError } from "../../base/rollout-error.ts";
import type { EnterRequest, Entrance } from "../environment.ts";
import { hasStatus, wrapKubeError } from "./connection/kube-error.ts";
import type { KubernetesGround } from "./kubernetes-ground.ts";
import { mainContainer, type Pod } from "./pods/pod.ts";
import { keptLabel } from "./pods/pod-labels.ts";
import { endOf } from "./pods/pod-life.ts";

/** Says how `kubectl` opens a shell in a Pod that was kept. */
export async function enterPod(ground: KubernetesGround, { id, isTerminal, signal }: EnterRequest): Promise<Entrance> {
  const { client, host, podsPath } = ground;
  const tool = findTool("kubectl", host.env["PATH"] ?? "");
  if (tool === null) {
    throw new RolloutError("unsupported", "a shell in a Pod takes the kubectl command, which is not on your PATH", {
      hint: "install kubectl",
    });
  }
  let pod: Pod;
  try {
    pod = await client.json<Pod>({ method: "GET", path: `${podsPath}/${id}`, signal });
  } catch (error) {
    signal.throwIfAborted();
    if (hasStatus(error, 404)) throw new RolloutError("not_found", `there is no Pod ${id}`, { cause: error });
    throw wrapKubeError(error, "provider_unavailable", `looking for the Pod ${id}`);
  }
  const end = endOf(pod);
  if (end !== null) throw new RolloutError("not_found", `the Pod ${id} ${end.words}`);
  if (pod.metadata.labels?.[keptLabel] !== "true") {
    throw new RolloutError("already_exists", `${id} cannot be entered: it is still in use`);
  }
  const env = Object.fromEntries(
    Object.entries(host.env).filter((pair): pair is [string, string] => pair[1] !== undefined),
  );
  const { kubectlOptions } = client.endpoint;
  return {
    command: [tool, ...kubectlOptions, "exec", isTerminal ? "-it" : "-i", id, "-c", mainContainer, "--", "bash"],
    env,
    async [Symbol.asyncDispose]() {
      // Whatever was started inside ends with its shell, or stays for the next visit.
    },
  };
}
