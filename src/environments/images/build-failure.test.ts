import { expect, test } from "vitest";
import { describeBuildFailure, isOutOfReach } from "./build-failure.ts";

const describeIt = (failure: string, output = ""): string =>
  describeBuildFailure("/tasks/a/environment", failure, output);

test("a base image that BuildKit could not have is named first, as the Dockerfile has it", () => {
  const failure =
    'failed to solve with frontend dockerfile.v0: failed to create LLB definition: failed to do request: Head "https://x"';
  const steps =
    "#1 [internal] load remote build context\n#3 [internal] load metadata for docker.io/library/no-such:1\n";
  expect(describeIt(failure, `${steps}#3 ERROR: failed to do request: Head "https://x"\n`)).toBe(
    'the base image no-such:1 cannot be had: failed to do request: Head "https://x"',
  );
});

test("where BuildKit's command failed is left out", () => {
  expect(describeIt("error: failed to solve: dockerfile parse error on line 2: unknown instruction: RUNN")).toBe(
    "building a/environment failed: dockerfile parse error on line 2: unknown instruction: RUNN",
  );
});

test("an image that was had is not blamed for a later step", () => {
  const steps = "#3 [internal] load metadata for docker.io/library/debian:12\n#4 RUN make\n#4 ERROR: exit code 2\n";
  expect(describeIt("failed to solve: process did not complete: exit code: 2", steps)).toBe(
    "building a/environment failed: process did not complete: exit code: 2",
  );
});

test.each([
  [
    "failed to solve: lab.example/team/base:2: failed to resolve source metadata for lab.example/team/base:2: no such host",
    "lab.example/team/base:2",
  ],
  [
    "creating build container: initializing source docker://localhost:9/no/base:1: pinging container registry",
    "localhost:9/no/base:1",
  ],
  ["pull access denied for nobody/nothing, repository does not exist or may require 'docker login'", "nobody/nothing"],
  ["manifest for debian:no-such-tag not found: manifest unknown", "debian:no-such-tag"],
])("%s", (failure, image) => {
  expect(describeIt(failure)).toMatch(new RegExp(`^the base image ${image} cannot be had: `));
});

test.each([
  ["Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?", true],
  ["Cannot connect to Podman. Please verify your connection to the Linux system", true],
  ["dial tcp: lookup registry.example.com: no such host", true],
  ["process did not complete: exit code: 2", false],
])("%s: is it nobody's Dockerfile? %s", (words, isNobodys) => {
  expect(isOutOfReach(words)).toBe(isNobodys);
});
