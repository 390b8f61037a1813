import { join } from "node:path";
import { readTextIfAny } from "../../archive/build-context.ts";
import type { ImagePlan, TaskCheck, TaskEnvironment } from "../../environment.ts";
import { hashBuild } from "../../images/docker-context.ts";
import type { KubernetesConfig } from "../kubernetes-config-schema.ts";

/** Decides on the image of a task: the one it names, or its Dockerfile, which takes a registry. */
export async function planKubernetesImage(
  { contextDir, dockerImage, forceBuild }: TaskEnvironment,
  config: KubernetesConfig,
  signal: AbortSignal,
): Promise<TaskCheck> {
  if (dockerImage !== null && !forceBuild) {
    return { problems: [], warnings: [], image: { kind: "pull", key: dockerImage, ref: dockerImage } };
  }
  const dockerfile = contextDir === null ? null : await readTextIfAny(join(contextDir, "Dockerfile"));
  if (contextDir === null || dockerfile === null) {
    return refuse(
      forceBuild
        ? "force_build is set and there is no environment/Dockerfile"
        : "there is neither an environment/Dockerfile nor a docker_image",
    );
  }
  if (config.registry === undefined) {
    return refuse(
      "a Dockerfile is built into a registry that the nodes can pull from, and provider_config.registry names none",
    );
  }
  const { args, target, platform } = config.build;
  const key = await hashBuild(contextDir, { args, target, platform, secrets: [] }, signal);
  return { problems: [], warnings: [], image: { kind: "build", key, contextDir, noCache: forceBuild } };
}

/** What the image of a task is called where Pods pull it. */
export function imageRef(plan: ImagePlan, { registry = "" }: Pick<KubernetesConfig, "registry">): string {
  return plan.kind === "build" ? `${registry}/rollout-task:${plan.key}` : plan.ref;
}

function refuse(problem: string): TaskCheck {
  return { problems: [problem], warnings: [], image: null };
}
