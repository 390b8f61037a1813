import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join, posix } from "node:path";
import { RolloutError, systemCodeOf } from "../../base/rollout-error.ts";
import type { TaskCheck, TaskEnvironment } from "../environment.ts";

/** The image of tasks that bring none. */
export const memoryBaseImage = "memory";
/** Where commands run in images that name no directory. */
export const defaultWorkdir = "/app";

/** Decides on the image of a task as an engine for Dockerfiles would. */
export async function planMemoryImage(task: TaskEnvironment): Promise<TaskCheck> {
  const dockerfile = task.contextDir === null ? null : await readDockerfile(task.contextDir);
  if (task.forceBuild && dockerfile === null) {
    return { problems: ["force_build is set and there is no environment/Dockerfile"], warnings: [], image: null };
  }
  if (task.dockerImage !== null && !task.forceBuild) {
    return accept({ kind: "pull", key: task.dockerImage, ref: task.dockerImage });
  }
  if (task.contextDir !== null && dockerfile !== null) {
    const key = createHash("sha256").update(dockerfile).digest("hex");
    return accept({ kind: "build", key, contextDir: task.contextDir, noCache: task.forceBuild });
  }
  return accept({ kind: "base", key: memoryBaseImage, ref: memoryBaseImage });
}

function accept(image: NonNullable<TaskCheck["image"]>): TaskCheck {
  return { problems: [], warnings: [], image };
}

/** The text of a context's Dockerfile; null when it has none. */
export async function readDockerfile(contextDir: string): Promise<string | null> {
  const path = join(contextDir, "Dockerfile");
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    if (systemCodeOf(error) === "ENOENT" || systemCodeOf(error) === "ENOTDIR") return null;
    throw new RolloutError("io_failed", `cannot read ${path}`, { cause: error });
  }
}

/** The directory that the last stage of a Dockerfile ends in. */
export function readWorkdir(dockerfile: string): string {
  let workdir: string | null = null;
  for (const line of dockerfile.split(/\r?\n/)) {
    const [, instruction, value] = /^\s*(FROM|WORKDIR)\s+(.*?)\s*$/i.exec(line) ?? [];
    if (value === undefined) continue;
    if (instruction?.toUpperCase() === "FROM") workdir = null;
    else workdir = posix.resolve(workdir ?? "/", value.replace(/^(["'])(.*)\1$/, "$2"));
  }
  return workdir ?? defaultWorkdir;
}
