import { expect, test } from "vitest";
import { splitReference } from "./pull-docker-image.ts";

test.each([
  ["debian", "debian", "latest"],
  ["debian:12", "debian", "12"],
  ["localhost:5000/team/image", "localhost:5000/team/image", "latest"],
  ["localhost:5000/team/image:1.2", "localhost:5000/team/image", "1.2"],
  ["debian@sha256:abc", "debian", "sha256:abc"],
  ["debian:12@sha256:abc", "debian", "sha256:abc"],
])("%s is asked for as %s and %s", (reference, fromImage, tag) =>
  expect(splitReference(reference)).toEqual({ fromImage, tag }),
);
