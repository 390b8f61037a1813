import { join } from "node:path";
import { RolloutError } from "../../../base/rollout-error.ts";
import type { BuildImageRequest } from "../../environment.ts";
import { saveImage } from "../image-store.ts";
import type { PreparedGround } from "../local-ground.ts";
import { imageDeviation, type Deviation } from "../local-image.ts";
import { openBuildContext, readTextIfAny } from "../../archive/build-context.ts";
import { buildLayers } from "./build-layers.ts";
import { platformArguments } from "./plan-image.ts";
import { planReplay, type Replay } from "./plan-replay.ts";

/** Replays the Dockerfile of a plan on the base and gives the image's reference; rejects with `image_build_failed`. */
export async function buildLocalImage(
  ground: PreparedGround,
  architecture: string,
  dockerImage: string | null,
  request: BuildImageRequest,
): Promise<string> {
  const { plan, output, signal } = request;
  const text = await readTextIfAny(join(plan.contextDir, "Dockerfile"));
  if (text === null) throw new RolloutError("image_build_failed", `there is no Dockerfile in ${plan.contextDir}`);
  const replay = planReplay(text, platformArguments(architecture));
  if (replay.problems.length > 0) throw new RolloutError("image_build_failed", replay.problems.join("\n"));
  const context = await openBuildContext(plan.contextDir);
  await output.write(Buffer.from(`FROM ${replay.from}: replayed on ${ground.base.description}\n`));
  const layers = await buildLayers(ground, { replay, context, noCache: plan.noCache, output, signal });
  return saveImage(ground.layout.images, plan.key, {
    layers,
    env: replay.env,
    workdir: replay.workdir,
    user: ground.capabilities.users ? replay.user : "",
    deviations: [
      ...listDeviations(replay, ground),
      ...(dockerImage === null ? [] : [imageDeviation(dockerImage, ground.base.description)]),
    ],
  });
}

function listDeviations({ from, user }: Replay, ground: PreparedGround): Deviation[] {
  const { base, capabilities } = ground;
  const deviations = [{ asked: `FROM ${from}`, done: `replayed on ${base.description}` }];
  if (user === "" || capabilities.users) return deviations;
  return [...deviations, { asked: `USER ${user}`, done: "commands run as root: there is one id only" }];
}
