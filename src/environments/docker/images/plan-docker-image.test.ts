import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { dockerConfigSchema } from "../docker-config-schema.ts";
import { openDockerContext } from "../../images/docker-context.ts";
import { planDockerImage } from "./plan-docker-image.ts";

const signal = new AbortController().signal;
const limits = { cpus: 1, memoryBytes: 2e9, storageBytes: 1e10 };

async function context(files: Record<string, string>): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), "rollout-context-"));
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(directory, path)), { recursive: true });
    await writeFile(join(directory, path), text);
  }
  return directory;
}

async function keyOf(files: Record<string, string>, config: object = {}): Promise<string | undefined> {
  const task = { taskName: "t", contextDir: await context(files), dockerImage: null, forceBuild: false, limits };
  return (await planDockerImage(task, dockerConfigSchema.parse(config), signal)).image?.key;
}

const files = { Dockerfile: "FROM debian\nCOPY . /app\n", "a.txt": "a" };

test("the same content has the same key wherever it lies, and any change another one", async () => {
  const key = await keyOf(files);
  expect(key).toMatch(/^[0-9a-f]{24}$/);
  expect(await keyOf(files)).toBe(key);
  const others = [
    keyOf({ ...files, "a.txt": "b" }),
    keyOf({ ...files, "b.txt": "" }),
    keyOf({ ...files, Dockerfile: "FROM debian\n" }),
    keyOf(files, { build: { args: { A: "1" } } }),
    keyOf(files, { build: { args: { A: "2" } } }),
    keyOf(files, { build: { target: "x" } }),
    keyOf(files, { platform: "linux/arm64" }),
  ];
  expect(new Set([key, ...(await Promise.all(others))]).size).toBe(8);
});

test("what is ignored changes nothing, the ignore file itself does", async () => {
  const ignoring = { ...files, ".dockerignore": "*.log\n" };
  expect(await keyOf({ ...ignoring, "x.log": "1" })).toBe(await keyOf({ ...ignoring, "x.log": "2" }));
  expect(await keyOf(ignoring)).not.toBe(await keyOf(files));
});

test("the Dockerfile's own ignore file wins, and the Dockerfile always travels", async () => {
  const directory = await context({ ...files, ".dockerignore": "a.txt\n", "Dockerfile.dockerignore": "*\n!b.txt\n" });
  const { isIgnored } = await openDockerContext(directory);
  expect(["Dockerfile", "a.txt", "b.txt"].map(isIgnored)).toEqual([false, true, false]);
});

test("an image is pulled unless a build is forced", async () => {
  const config = dockerConfigSchema.parse({});
  const contextDir = await context(files);
  const task = { taskName: "t", contextDir, dockerImage: "debian:12", limits };
  const pulled = await planDockerImage({ ...task, forceBuild: false }, config, signal);
  expect(pulled.image).toMatchObject({ kind: "pull", ref: "debian:12" });
  const built = await planDockerImage({ ...task, forceBuild: true }, config, signal);
  expect(built.image).toMatchObject({ kind: "build", noCache: true });
});

test("a task with nothing to make an image from is refused with the reason", async () => {
  const config = dockerConfigSchema.parse({});
  const task = { taskName: "t", contextDir: await context({}), dockerImage: null, limits };
  const plain = await planDockerImage({ ...task, forceBuild: false }, config, signal);
  expect(plain).toMatchObject({ image: null, problems: [expect.stringContaining("neither")] });
  const forced = await planDockerImage({ ...task, forceBuild: true, dockerImage: "debian" }, config, signal);
  expect(forced).toMatchObject({ image: null, problems: [expect.stringContaining("force_build")] });
});
