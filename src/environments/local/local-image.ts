import type { Layer } from "./plan-mounts.ts";

/** What is different from what a task asked for, for the record. */
export interface Deviation {
  /** What the task says: `FROM ubuntu:24.04`, `docker_image`. */
  readonly asked: string;
  readonly done: string;
}

/** What environments are made from: a base, layers on it, and how commands run in it. */
export interface LocalImage {
  /** What it is called in results. */
  readonly name: string;
  /** Topmost first. */
  readonly layers: readonly Layer[];
  readonly env: Readonly<Record<string, string>>;
  readonly workdir: string;
  readonly user: string;
  readonly deviations: readonly Deviation[];
}

export const defaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/** Where commands run in images that name no directory. */
const defaultWorkdir = "/app";

const basePrefix = "base";

/** The reference of the bare base, for a task that may name an image we do not use. */
export function baseReference(dockerImage: string | null): string {
  return dockerImage === null ? basePrefix : `${basePrefix} instead of ${dockerImage}`;
}

/** The image behind a reference of the bare base; null when it is another one. */
export function readBaseReference(reference: string, baseName: string): LocalImage | null {
  const [, , dockerImage] = /^base( instead of (.+))?$/.exec(reference) ?? [];
  if (!reference.startsWith(basePrefix)) return null;
  return {
    name: reference,
    layers: [],
    env: {},
    workdir: defaultWorkdir,
    user: "",
    deviations: dockerImage === undefined ? [] : [imageDeviation(dockerImage, baseName)],
  };
}

/** The deviation of a task whose image is not used. */
export function imageDeviation(dockerImage: string, baseName: string): Deviation {
  return { asked: `docker_image ${dockerImage}`, done: `not used; the base is ${baseName}` };
}
