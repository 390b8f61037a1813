import { readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { randomUUID } from "node:crypto";
import { z } from "zod";
import { RolloutError } from "../../base/rollout-error.ts";
import type { PreparedGround } from "./local-ground.ts";
import { readBaseReference, type LocalImage } from "./local-image.ts";

const imageSchema = z.object({
  name: z.string(),
  layers: z.array(z.object({ key: z.string(), parts: z.array(z.string()) })),
  env: z.record(z.string(), z.string()),
  workdir: z.string(),
  user: z.string(),
  deviations: z.array(z.object({ asked: z.string(), done: z.string() })),
});

/** Writes down what an image is made of, whole or not at all, and gives its reference. */
export function saveImage(imagesDir: string, name: string, image: Omit<LocalImage, "name">): string {
  const file = join(imagesDir, `${name}.json`);
  const staging = `${file}.${randomUUID().slice(0, 8)}`;
  writeFileSync(staging, JSON.stringify({ ...image, name }));
  renameSync(staging, file);
  return name;
}

/** The image of a reference; null when there is none. */
export function loadImage(imagesDir: string, reference: string): LocalImage | null {
  if (!/^[\w-]+$/.test(reference)) return null;
  try {
    return imageSchema.parse(JSON.parse(readFileSync(join(imagesDir, `${reference}.json`), "utf8")));
  } catch {
    return null;
  }
}

/** The image of any reference that environments are made from; throws when there is none. */
export function requireImage({ base, layout }: PreparedGround, reference: string): LocalImage {
  const image = readBaseReference(reference, base.description) ?? loadImage(layout.images, reference);
  if (image !== null) return image;
  throw new RolloutError("environment_start_failed", `there is no image ${reference}`);
}
