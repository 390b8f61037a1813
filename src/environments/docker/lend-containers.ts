import type { CreateEnvironmentRequest } from "../environment.ts";
import { createContainer } from "./create-container.ts";
import { discardContainer } from "./discard-container.ts";
import type { DockerGround } from "./docker-ground.ts";
import type { ImageAnswer } from "./images/image-notes.ts";
import type { BorrowContainer } from "./tools/image-tools.ts";

/** Lends containers of the image that are never started, which costs next to nothing. */
export function lendContainers(
  ground: DockerGround,
  request: CreateEnvironmentRequest,
  image: ImageAnswer,
): BorrowContainer {
  const name = `${request.name.slice(0, 58)}-look`;
  return async (work) => {
    const id = await createContainer(ground, { ...request, name }, image, null);
    try {
      return await work(id);
    } finally {
      // The trial need not wait for it; what an engine was asked to remove goes even when nobody listens any more.
      void discardContainer(ground, id, null);
    }
  };
}
