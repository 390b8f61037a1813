import { randomUUID } from "node:crypto";
import { RolloutError } from "../../../base/rollout-error.ts";
import type { BuildImageRequest } from "../../environment.ts";
import type { ImageOutput } from "../../images/image-output.ts";
import { PodShell } from "../commands/pod-shell.ts";
import { runTool } from "../commands/run-tool.ts";
import { wrapKubeError } from "../connection/kube-error.ts";
import type { KubernetesConfig } from "../kubernetes-config-schema.ts";
import type { KubernetesGround } from "../kubernetes-ground.ts";
import { awaitStart } from "../pods/await-start.ts";
import { createPod } from "../pods/create-pod.ts";
import { discardPod } from "../pods/discard-pod.ts";
import { mainContainer } from "../pods/pod.ts";
import { podName } from "../pods/pod-labels.ts";
import { PodLife } from "../pods/pod-life.ts";
import { buildFailure } from "./build-here.ts";
import { planFollow, planUnpack } from "./builder-scripts.ts";
import { findDaemonFailure } from "./daemon-failure.ts";
import { packBuild } from "./pack-build.ts";
import { planBuilderPod } from "./plan-builder-pod.ts";

export interface BuildInPodRequest extends Pick<BuildImageRequest, "plan" | "labels" | "signal"> {
  readonly ref: string;
  readonly output: ImageOutput;
  readonly builder: NonNullable<KubernetesConfig["builder"]>;
}

/** Builds a Dockerfile in a Pod of its own, which pushes it and is removed in every ending. */
export async function buildInPod(ground: KubernetesGround, request: BuildInPodRequest): Promise<void> {
  const { ref, plan, labels, output, builder, signal } = request;
  const { config, session, watch } = ground;
  const name = podName(`builder-${plan.key}`, randomUUID());
  const body = planBuilderPod({ config, builder, name, session, labels });
  ground.log.write("info", `the Pod ${name} builds ${ref}`);
  let isMade = false;
  let saying = Promise.resolve();
  const onWait = (words: string): void => void (saying = saying.then(() => output.say(`the builder ${words}`)));
  try {
    await awaitStart(ground, { name, label: "the builder", onWait, signal }, async (limit, onQuota) => {
      const made = { body, name, signal: limit, onWait: onQuota };
      const created = await watch.admit(name, () => createPod(ground, made));
      isMade = true;
      return created;
    }).catch((error: unknown) => {
      throw startFailure(error);
    });
    await saying;
    const shell = openShell(ground, name);
    const code = await runBuild(ground, request, shell);
    // What was killed may have been killed with its Pod.
    const end = code > 128 ? await shell.endSoon(signal) : null;
    if (end !== null) throw shell.options.life.lost(end);
    if (code !== 0) {
      const daemon = builder.kind === "buildkit" ? findDaemonFailure(output) : null;
      throw daemon ?? buildFailure(plan.contextDir, output, `${builder.kind} ended with ${code}`);
    }
  } catch (error) {
    signal.throwIfAborted();
    throw wrapKubeError(error, "image_build_failed", `building ${ref} in the Pod ${name}`);
  } finally {
    await saying.catch(() => {});
    if (isMade) await discardPod(ground, name);
  }
}

function openShell(ground: KubernetesGround, pod: string): PodShell {
  const { client, clock, namespace, config, timeoutMultiplier } = ground;
  const address = { namespace, pod, container: mainContainer };
  const patienceMs = config.reconnect_limit_sec * timeoutMultiplier * 1000;
  return new PodShell({ client, clock, address, life: new PodLife(ground, pod), patienceMs });
}

// The build runs beside the connections that follow it: one that is lost is made again where it was cut off.
async function runBuild(ground: KubernetesGround, request: BuildInPodRequest, shell: PodShell): Promise<number> {
  const { output, signal } = request;
  const unpacking = await shell.runTool({
    command: planUnpack(),
    input: () => packBuild(ground, request),
    isSh: true,
    signal,
  });
  if (unpacking.exitCode !== 0) {
    throw new RolloutError("image_build_failed", `the context cannot be unpacked: ${unpacking.stderr.trim()}`, {
      hint: "the builder's image needs `sh`, `tar`, `mkdir`, `wc`, `tail` and `sleep`",
    });
  }
  let heard = 0;
  const decoder = new TextDecoder();
  const { exitCode } = await shell.untilHeard(signal, () =>
    runTool((command, until) => shell.open(command, until), {
      command: planFollow(heard),
      output: async (bytes) => {
        for await (const chunk of bytes) {
          heard += chunk.length;
          await output.write(decoder.decode(chunk, { stream: true }));
        }
      },
      isSh: true,
      signal,
    }),
  );
  return exitCode;
}

// A task is not to blame for a builder that does not start.
function startFailure(error: unknown): unknown {
  if (!(error instanceof RolloutError)) return error;
  const { code, message, hint, transient } = error;
  if (code === "resource_allocation_failed" || code === "config_invalid") return error;
  return new RolloutError(transient ? "image_build_failed" : "config_invalid", message, {
    hint: hint ?? "look at provider_config.builder",
    cause: error,
    transient,
  });
}
