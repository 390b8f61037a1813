import { createHash } from "node:crypto";
import { join } from "node:path";
import { hashSource, readTextIfAny, type BuildContext } from "../../archive/build-context.ts";
import { parseDockerIgnore } from "../../archive/docker-ignore.ts";
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
  const context = await openDockerContext(contextDir);
  const { args, target, secrets } = config.build;
  const settings = [
    Object.keys(args)
      .sort()
      .map((name) => [name, args[name]]),
    target ?? "",
    Object.keys(secrets).sort(),
    config.platform ?? "",
  ];
  const hash = createHash("sha256").update(JSON.stringify(settings));
  hash.update(await hashSource(context, "", signal));
  return accept({ kind: "build", key: hash.digest("hex").slice(0, 24), contextDir, noCache: forceBuild });
}

/** What a builder gets to see of a directory, by the rules of its own ignore file or the Dockerfile's. */
export async function openDockerContext(directory: string): Promise<BuildContext> {
  const rules =
    (await readTextIfAny(join(directory, "Dockerfile.dockerignore"))) ??
    (await readTextIfAny(join(directory, ".dockerignore"))) ??
    "";
  const isIgnored = parseDockerIgnore(rules);
  // The builder needs these two whatever the rules say.
  const isNeeded = (path: string): boolean => path === "Dockerfile" || path === ".dockerignore";
  return { directory, isIgnored: (path) => isIgnored(path) && !isNeeded(path) };
}

function accept(image: NonNullable<TaskCheck["image"]>): TaskCheck {
  return { problems: [], warnings: [], image };
}

function refuse(problem: string): TaskCheck {
  return { problems: [problem], warnings: [], image: null };
}
