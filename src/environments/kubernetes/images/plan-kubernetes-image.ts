import type { TaskCheck, TaskEnvironment } from "../../environment.ts";

/** Decides on the image of a task: the one it names. */
export async function planKubernetesImage({ dockerImage, forceBuild }: TaskEnvironment): Promise<TaskCheck> {
  if (dockerImage === null || forceBuild)
    return { problems: ["there is no docker_image to run"], warnings: [], image: null };
  return { problems: [], warnings: [], image: { kind: "pull", key: dockerImage, ref: dockerImage } };
}
