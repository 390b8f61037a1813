import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { systemClock } from "../../../base/clock.ts";
import { readHost } from "../../../base/host.ts";
import { kubernetesConfigSchema } from "../kubernetes-config-schema.ts";
import { findBuilder, type FoundBuilder } from "./find-builder.ts";

const { signal } = new AbortController();
const away = "echo Cannot connect to the Docker daemon at unix:///nowhere. >&2; exit 1";
const works = "echo fine";

/** Looks for a builder on a machine that has these programs. */
async function find(programs: Readonly<Record<string, string>>, wanted?: string): Promise<FoundBuilder> {
  const directory = mkdtempSync(join(tmpdir(), "rollout-builders-"));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  for (const [name, script] of Object.entries(programs)) {
    writeFileSync(join(directory, name), `#!/bin/sh\n${script}\n`);
    chmodSync(join(directory, name), 0o755);
  }
  const config = kubernetesConfigSchema.parse({ build: wanted === undefined ? {} : { with: wanted } });
  const host = { ...readHost(process), env: { PATH: directory } };
  return findBuilder({ config, host, clock: systemClock }, signal);
}

test("the first that works is taken", async () => {
  expect((await find({ docker: works, podman: works, buildah: works })).name).toBe("docker");
  expect((await find({ docker: away, podman: works, buildah: works })).name).toBe("podman");
  expect((await find({ docker: away, podman: "exit 125", buildah: works })).name).toBe("buildah");
  expect((await find({ buildah: works })).name).toBe("buildah");
});

test("one that is asked for is taken as it is, and says itself what is wrong", async () => {
  expect((await find({ docker: away, podman: works }, "docker")).name).toBe("docker");
});

test("what is wrong with each is told when none works", async () => {
  await expect(find({ docker: away, podman: "echo WARN x >&2; echo no storage >&2; exit 125" })).rejects.toMatchObject({
    code: "image_build_failed",
    transient: true,
    message:
      "no builder of this machine works: docker: Cannot connect to the Docker daemon at unix:///nowhere.; podman: no storage; not on your PATH: buildah",
  });
});

test("a machine without any is told what it takes", async () => {
  await expect(find({})).rejects.toMatchObject({
    code: "config_invalid",
    message: "building a Dockerfile takes docker, podman, buildah, and none is on your PATH",
  });
  await expect(find({ docker: works }, "buildah")).rejects.toMatchObject({
    code: "config_invalid",
    message: expect.stringMatching(/^buildah is to build a Dockerfile .* not on your PATH$/),
  });
});
