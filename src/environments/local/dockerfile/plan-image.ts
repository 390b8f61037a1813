import { createHash } from "node:crypto";
import { join } from "node:path";
import type { TaskCheck, TaskEnvironment } from "../../environment.ts";
import { baseReference } from "../local-image.ts";
import { hashSource, openBuildContext, readTextIfAny } from "../../archive/build-context.ts";
import { planReplay } from "./plan-replay.ts";

const architectures: Readonly<Record<string, string>> = { x64: "amd64", arm64: "arm64", arm: "arm", ia32: "386" };

const instead = "tasks run on this machine's own programs (provider_config.base: host says that you know)";

/** The arguments that every Dockerfile may ask for. */
export function platformArguments(architecture: string): Readonly<Record<string, string>> {
  const name = architectures[architecture] ?? architecture;
  const platform = `linux/${name}`;
  return {
    TARGETPLATFORM: platform,
    TARGETOS: "linux",
    TARGETARCH: name,
    BUILDPLATFORM: platform,
    BUILDOS: "linux",
    BUILDARCH: name,
  };
}

/** Decides on the image of a task: its Dockerfile replayed on the base, or the bare base. */
export async function planLocalImage(
  task: TaskEnvironment,
  architecture: string,
  warnsOfBase: boolean,
  signal: AbortSignal,
): Promise<TaskCheck> {
  const { contextDir, dockerImage } = task;
  const dockerfile = contextDir === null ? null : await readTextIfAny(join(contextDir, "Dockerfile"));
  if (task.forceBuild && dockerfile === null)
    return refuse(["force_build is set and there is no environment/Dockerfile"]);
  const warn = (asked: string): string[] => (warnsOfBase ? [`${asked} is not used: ${instead}`] : []);
  const warnings = dockerImage === null ? [] : warn(`docker_image ${dockerImage}`);
  if (contextDir === null || dockerfile === null) {
    const ref = baseReference(dockerImage);
    return { problems: [], warnings, image: { kind: "base", key: ref, ref } };
  }
  const { problems, from } = planReplay(dockerfile, platformArguments(architecture));
  if (problems.length > 0) return refuse(problems);
  const context = await openBuildContext(contextDir);
  const hash = createHash("sha256").update(JSON.stringify([dockerfile, dockerImage, task.forceBuild]));
  hash.update(await hashSource(context, "", signal));
  const key = hash.digest("hex").slice(0, 20);
  warnings.push(...warn(`FROM ${from}`));
  return { problems: [], warnings, image: { kind: "build", key, contextDir, noCache: task.forceBuild } };
}

function refuse(problems: readonly string[]): TaskCheck {
  return { problems, warnings: [], image: null };
}
