import { join } from "node:path";
import { readTextIfAny } from "../../archive/build-context.ts";
import { hashBuild } from "../../images/docker-context.ts";
import type { TaskCheck, TaskEnvironment } from "../../environment.ts";
import type { DockerConfig } from "../docker-config-schema.ts";

/** Decides on the image of a task: the one it names, or its Dockerfile. */
export async function planDockerImage(
  task: TaskEnvironment,
  config: DockerConfig,
  signal: AbortSignal,
): Promise<TaskCheck> {
  const { contextDir, dockerImage, forceBuild } = task;
  if (dockerImage !== null && !forceBuild) {
    return accept({ kind: "pull", key: `${dockerImage} ${config.platform ?? ""}`.trim(), ref: dockerImage });
  }
  const dockerfile = contextDir === null ? null : await readTextIfAny(join(contextDir, "Dockerfile"));
  if (contextDir === null || dockerfile === null) {
    return refuse(
      forceBuild
        ? "force_build is set and there is no environment/Dockerfile"
        : "there is neither an environment/Dockerfile nor a docker_image",
    );
  }
  const { args, target, secrets } = config.build;
  const settings = { args, target, secrets: Object.keys(secrets), platform: config.platform };
  const key = await hashBuild(contextDir, settings, signal);
  return accept({ kind: "build", key, contextDir, noCache: forceBuild });
}

function accept(image: NonNullable<TaskCheck["image"]>): TaskCheck {
  return { problems: [], warnings: [], image };
}

function refuse(problem: string): TaskCheck {
  return { problems: [problem], warnings: [], image: null };
}
