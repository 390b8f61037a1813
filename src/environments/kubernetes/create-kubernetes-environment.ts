import { randomUUID } from "node:crypto";
import { RolloutError, type ErrorCode } from "../../base/rollout-error.ts";
import { planPlacements } from "../archive/plan-placements.ts";
import { requireSource } from "../archive/require-source.ts";
import { defaultPidsLimit, type CreateEnvironmentRequest } from "../environment.ts";
import { readGroups, type ReadGroup } from "./carried-files.ts";
import { PodShell } from "./commands/pod-shell.ts";
import { wrapKubeError } from "./connection/kube-error.ts";
import { copyIn, lookAround, type Whereabouts } from "./copy-in.ts";
import { KubernetesEnvironment } from "./kubernetes-environment.ts";
import type { KubernetesGround } from "./kubernetes-ground.ts";
import { planFacts } from "./kubernetes-facts.ts";
import { priceOfPod } from "./pod-price.ts";
import { awaitStart } from "./pods/await-start.ts";
import { createPod } from "./pods/create-pod.ts";
import { discardPod } from "./pods/discard-pod.ts";
import { plannedVolumePaths, planPod, trialPaths } from "./pods/plan-pod.ts";
import { imageOf, mainContainer } from "./pods/pod.ts";
import { podName } from "./pods/pod-labels.ts";
import { PodLife } from "./pods/pod-life.ts";
import { startStep } from "./pods/pod-start.ts";

const ownCodes: readonly ErrorCode[] = [
  "environment_start_failed",
  "resource_allocation_failed",
  "image_pull_failed",
  "task_unfit",
  "config_invalid",
];

/** Creates, awaits and fills a Pod; when that fails, nothing of it is left. */
export async function createKubernetesEnvironment(
  ground: KubernetesGround,
  request: CreateEnvironmentRequest,
): Promise<KubernetesEnvironment> {
  const { signal, name, image } = request;
  signal.throwIfAborted();
  try {
    for (const item of request.place) if (item.kind === "tree") await requireSource(item.source);
    planPlacements(request.place, new Set());
    const made = await makePod(ground, request);
    if (made !== null) return made;
    // Now it is known that the image's user needs volumes.
    const again = await makePod(ground, request);
    if (again !== null) return again;
    throw new RolloutError("environment_start_failed", `${name} did not start: nobody may write in ${image}`);
  } catch (error) {
    signal.throwIfAborted();
    throw startFailure(error, name);
  }
}

// Null when it has to be made anew, because the image's user may not write to its root.
async function makePod(
  ground: KubernetesGround,
  request: CreateEnvironmentRequest,
): Promise<KubernetesEnvironment | null> {
  const { signal } = request;
  const { client, clock, config, namespace, session, watch, timeoutMultiplier } = ground;
  const name = podName(request.name, randomUUID());
  const planned = plannedVolumePaths(config);
  const volumePaths = planned.length === 0 && ground.nonRootImages.has(request.image) ? trialPaths : planned;
  const body = planPod({ request, config, name, session, volumePaths });
  let isMade = false;
  try {
    const pod = await awaitStart(
      ground,
      { name, label: request.name, onWait: request.onWait, signal },
      async (limit, onWait) => {
        const created = await watch.admit(name, () => createPod(ground, { body, name, signal: limit, onWait }));
        isMade = true;
        return created;
      },
    );
    const startedMs = clock.monotonic();
    const life = new PodLife(ground, name);
    const shell = new PodShell({
      client,
      clock,
      address: { namespace, pod: name, container: mainContainer },
      life,
      patienceMs: config.reconnect_limit_sec * timeoutMultiplier * 1000,
    });
    const mounted = [...volumePaths, ...config.volumes.map(({ mount_path }) => mount_path)];
    const image = imageOf(watch.get(name) ?? pod);
    const hasVolumes = volumePaths.length > 0;
    const known = knownWhereabouts(ground, image, hasVolumes);
    const found = known ?? (await fill(ground, request, shell, mounted, hasVolumes));
    if (found === null) {
      await discardPod(ground, name);
      return null;
    }
    if (image !== "") ground.whereabouts.set(image, found);
    const pending = known === null ? [] : await leftForLater(request, mounted, shell);
    const options = { ground, name, uid: pod.metadata.uid ?? "", shell, life, mounted, pending, startedMs };
    const facts = planFacts(ground, request, watch.get(name) ?? pod);
    const pricePerHour = priceOfPod(request.limits, config);
    const pids = request.limits.pids ?? defaultPidsLimit;
    return new KubernetesEnvironment({ ...options, pids, workdir: found.workdir, facts, pricePerHour });
  } catch (error) {
    // One that ended by itself before its first command has not started.
    const step = isLost(error) ? startStep(watch.get(name), request.name) : null;
    if (isMade) await discardPod(ground, name);
    throw step?.kind === "failed" ? step.error : error;
  }
}

// An image that was seen before needs no look around, so that its files can wait for what comes next.
function knownWhereabouts({ whereabouts }: KubernetesGround, image: string, hasVolumes: boolean): Whereabouts | null {
  const known = whereabouts.get(image) ?? null;
  return known !== null && (known.uid === 0 || hasVolumes) ? known : null;
}

// What is too much to travel with the first command is placed at once.
async function leftForLater(
  { place, signal }: CreateEnvironmentRequest,
  mounted: readonly string[],
  shell: PodShell,
): Promise<readonly ReadGroup[]> {
  const groups = await readGroups(place, mounted, signal);
  if (groups === null) await copyIn(place, { shell, mounted, signal });
  return groups ?? [];
}

async function fill(
  ground: KubernetesGround,
  { place, image, signal }: CreateEnvironmentRequest,
  shell: PodShell,
  mounted: readonly string[],
  hasVolumes: boolean,
): Promise<Whereabouts | null> {
  try {
    const found = (await copyIn(place, { shell, mounted, signal })) ?? (await lookAround(shell, signal));
    if (found.uid === 0 || hasVolumes) return found;
  } catch (error) {
    const isRefused = error instanceof RolloutError && error.code === "copy_failed" && !hasVolumes;
    if (!isRefused || (await lookAround(shell, signal)).uid === 0) throw error;
  }
  ground.nonRootImages.add(image);
  return null;
}

function isLost(error: unknown): boolean {
  return error instanceof RolloutError && error.code === "environment_lost";
}

function startFailure(error: unknown, name: string): unknown {
  const what = `${name} did not start`;
  const wrapped = wrapKubeError(error, "environment_start_failed", what);
  if (!(wrapped instanceof RolloutError) || ownCodes.includes(wrapped.code)) return wrapped;
  const { message, transient, hint } = wrapped;
  return new RolloutError("environment_start_failed", `${what}: ${message}`, { cause: error, transient, hint });
}
