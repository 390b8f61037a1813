import { execFileSync } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { Environment, EnvironmentProvider, TaskEnvironment } from "../../src/environments/environment.ts";
import { openLocal } from "./local/open-local.ts";
import { whyNoLocal } from "./local/why-no-local.ts";
import { cannotRun } from "../e2e/rollout-cli.ts";

const cacheDir = mkdtempSync(join(tmpdir(), "rollout-local-build-"));
const never = new AbortController().signal;
const limits = { cpus: 1, memoryBytes: 2 ** 29, storageBytes: 2 ** 30 };
const reason = await whyNoLocal(cacheDir);
let provider: EnvironmentProvider;

beforeAll(async () => void (provider = await openLocal(cacheDir)));
beforeEach((context) => void (reason !== null && cannotRun(context, reason)));
afterAll(async () => {
  await provider[Symbol.asyncDispose]();
  rmSync(cacheDir, { recursive: true, force: true });
});

function writeContext(files: Readonly<Record<string, string | Uint8Array>>): string {
  const directory = mkdtempSync(join(cacheDir, "context-"));
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(directory, path)), { recursive: true });
    writeFileSync(join(directory, path), content);
  }
  return directory;
}

async function check(contextDir: string, overrides: Partial<TaskEnvironment> = {}, using = provider) {
  return using.checkTask(
    { taskName: "t", contextDir, dockerImage: null, forceBuild: false, limits, ...overrides },
    never,
  );
}

async function build(contextDir: string, overrides: Partial<TaskEnvironment> = {}, using = provider) {
  const { image: plan } = await check(contextDir, overrides, using);
  if (plan?.kind !== "build") throw new Error("nothing to build");
  let output = "";
  const sink = { write: (chunk: Uint8Array) => void (output += Buffer.from(chunk).toString("utf8")) };
  const image = await using.buildImage({ plan, output: sink, labels: {}, signal: never });
  return { image, output };
}

async function start(image: string, using = provider): Promise<Environment> {
  return using.createEnvironment({ image, name: "built", limits, place: [], labels: {}, signal: never });
}

async function run(environment: Environment, script: string): Promise<string> {
  let output = "";
  const sink = { write: (chunk: Uint8Array) => void (output += Buffer.from(chunk).toString("utf8")) };
  await environment.exec({ command: ["bash", "-c", script], env: {}, stdout: sink, stderr: sink, signal: never });
  return output;
}

test("many may ask at once whether this machine can do it, and none is told otherwise", async () => {
  const ask = async (): Promise<void> => {
    await using other = await openLocal(cacheDir);
    await other.probe(never);
  };
  await provider.probe(never);
  expect(await Promise.allSettled(Array.from({ length: 24 }, ask))).toEqual(
    Array.from({ length: 24 }, () => ({ status: "fulfilled", value: undefined })),
  );
});

describe("a Dockerfile on the host as its base", () => {
  test("is replayed: files, variables, directory, user, what is removed and what is left out", async () => {
    const contextDir = writeContext({
      Dockerfile: [
        "FROM debian:12",
        "ARG WHO=world",
        "ENV GREETING=hello-$WHO",
        "RUN useradd -m -u 4242 app && echo $GREETING > /etc/greeting && rm /usr/bin/yes && echo kept > /tmp/kept",
        "WORKDIR /srv/app",
        "COPY --chown=app --chmod=750 run.sh bin/",
        "COPY . .",
        "COPY data /data",
        "COPY one.txt /srv",
        "ADD bundle.tar.gz /unpacked/",
        "USER app",
        'RUN ["sh", "-c", "id -un > /home/app/who"]',
        'CMD ["sleep"]',
      ].join("\n"),
      ".dockerignore": "secret\n*.log\n",
      "run.sh": "echo ran\n",
      "one.txt": "1\n",
      secret: "s",
      "a.log": "l",
      "data/sub/file": "deep\n",
      "bundle.tar.gz": gzipSync(execFileSync("tar", ["-C", "/etc", "-c", "hostname"])),
    });
    const { image, output } = await build(contextDir);
    expect(output).toContain("RUN useradd");
    const environment = await start(image);
    expect(environment.workdir).toBe("/srv/app");
    expect(await run(environment, "id -un; pwd; cat /etc/greeting /home/app/who /tmp/kept; echo $GREETING $HOME")).toBe(
      "app\n/srv/app\nhello-world\napp\nkept\nhello-world /home/app\n",
    );
    expect(
      await run(environment, "ls -A . | tr '\\n' ' '; stat -c '%U %a' bin/run.sh; cat /data/sub/file /srv/one.txt"),
    ).toBe(".dockerignore Dockerfile bin bundle.tar.gz data one.txt run.sh app 750\ndeep\n1\n");
    expect(await run(environment, "ls /usr/bin/yes /unpacked 2>&1")).toMatch(/cannot access.*yes[^]*hostname/);
    expect(environment.facts["deviations"]).toMatchObject([{ asked: "FROM debian:12" }]);
    await environment.destroy(never);
  });

  test("comes from the cache the second time, and only from the changed line on afterwards", async () => {
    const lines = ["FROM x", "RUN echo first > /first", "COPY file /file", "RUN echo last > /last"];
    const contextDir = writeContext({ Dockerfile: lines.join("\n"), file: "1" });
    expect((await build(contextDir)).output).not.toContain("cached");
    expect((await build(contextDir)).output.match(/cached/g)).toHaveLength(3);
    writeFileSync(join(contextDir, "file"), "2");
    expect((await build(contextDir)).output.match(/cached/g)).toHaveLength(1);
    expect((await build(contextDir, { forceBuild: true })).output).not.toContain("cached");
  });

  test("is built by two at once without harm", async () => {
    const contextDir = writeContext({ Dockerfile: "FROM x\nRUN sleep 0.5; echo $RANDOM$RANDOM > /once\n" });
    const other = await openLocal(cacheDir);
    const [one, two] = await Promise.all([build(contextDir), build(contextDir, {}, other)]);
    const environments = [await start(one.image), await start(two.image, other)] as const;
    expect(await run(environments[0], "cat /once")).toBe(await run(environments[1], "cat /once"));
    for (const environment of environments) await environment.destroy(never);
    await other[Symbol.asyncDispose]();
  });

  test("fails with its line, its exit code and the end of its output, and leaves nothing", async () => {
    const contextDir = writeContext({ Dockerfile: "FROM x\nRUN echo before; echo broken >&2; exit 3\n" });
    await expect(build(contextDir)).rejects.toMatchObject({
      code: "image_build_failed",
      message: expect.stringMatching(
        /^Dockerfile line 2: RUN .* ended with exit code 3; it last printed:\nbefore\nbroken\n\(replayed on .*, not on x\)$/,
      ),
    });
    const missing = writeContext({ Dockerfile: "FROM x\nCOPY nothing /x\n" });
    await expect(build(missing)).rejects.toThrow(/line 2: there is no nothing in the context/);
    expect(await provider.findEnvironments({ "rollout.build": "true" }, never)).toEqual([]);
  });

  test("is refused before anything starts when it cannot be replayed", async () => {
    const contextDir = writeContext({ Dockerfile: "FROM x AS a\nFROM y\nCOPY --from=a /x /x\n" });
    const { problems, image } = await check(contextDir);
    expect(image).toBeNull();
    expect(problems.join("\n")).toMatch(/line 2: several stages[^]*line 3: COPY --from/);
  });

  test("an aborted build leaves no environment", async () => {
    const contextDir = writeContext({ Dockerfile: "FROM x\nRUN sleep 100\n" });
    const { image: plan } = await check(contextDir);
    if (plan?.kind !== "build") throw new Error("nothing to build");
    const controller = new AbortController();
    const output = {
      write: (chunk: Uint8Array) =>
        void (Buffer.from(chunk).includes("sleep") && setTimeout(() => controller.abort(new Error("enough")), 200)),
    };
    await expect(provider.buildImage({ plan, output, labels: {}, signal: controller.signal })).rejects.toThrow(
      "enough",
    );
    expect(await provider.findEnvironments({ "rollout.build": "true" }, never)).toEqual([]);
  });
});

test("an image that a task names is not used, and the record says so", async () => {
  const { image, warnings } = await provider.checkTask(
    { taskName: "t", contextDir: null, dockerImage: "python:3.13", forceBuild: false, limits },
    never,
  );
  expect(warnings).toEqual([expect.stringContaining("docker_image python:3.13 is not used")]);
  const environment = await start(image?.kind === "base" ? image.ref : "");
  expect(environment.facts["deviations"]).toMatchObject([{ asked: "docker_image python:3.13" }]);
  await environment.destroy(never);
});

describe("a root file system as a base", () => {
  const tools = ["bash", "ls", "cat", "id", "mkdir", "touch", "stat"];
  const rootfs = join(cacheDir, "rootfs");
  beforeAll(() => {
    for (const path of ["usr/bin", "etc", "dev", "opt"]) mkdirSync(join(rootfs, path), { recursive: true });
    for (const tool of tools) {
      const file = execFileSync("which", [tool], { encoding: "utf8" }).trim();
      const libraries = execFileSync("ldd", [file], { encoding: "utf8" }).match(/\/\S+/g) ?? [];
      for (const path of [file, ...libraries]) {
        mkdirSync(join(rootfs, dirname(path)), { recursive: true });
        execFileSync("cp", ["-L", path, join(rootfs, path)]);
      }
    }
    symlinkSync("usr/bin", join(rootfs, "bin"));
    symlinkSync("bash", join(rootfs, "usr/bin/sh"));
    writeFileSync(join(rootfs, "etc/passwd"), "root:x:0:0::/root:/bin/sh\nann:x:1000:1000::/home/ann:/bin/sh\n");
    writeFileSync(join(rootfs, "etc/group"), "root:x:0:\nann:x:1000:\n");
    writeFileSync(join(rootfs, "opt/owned"), "");
    chmodSync(join(rootfs, "opt/owned"), 0o600);
    if (process.getuid?.() === 0) execFileSync("chown", ["1000:1000", join(rootfs, "opt/owned")]);
  });

  test.each(["directory", "tarball"])("given as a %s is all that an environment sees", async (kind) => {
    const base = kind === "directory" ? rootfs : join(cacheDir, "rootfs.tgz");
    if (kind === "tarball") execFileSync("tar", ["-C", rootfs, "-czf", base, "."]);
    await using other = await openLocal(cacheDir, { base });
    const contextDir = writeContext({ Dockerfile: "FROM x\nWORKDIR /work\nRUN echo built > /usr/built\n" });
    const { image } = await build(contextDir, {}, other);
    const environment = await start(image, other);
    expect(await run(environment, "ls /usr/bin | cat")).toBe(`${[...tools, "sh"].sort().join("\n")}\n`);
    expect(await run(environment, "cat /usr/built; touch /usr/bin/new && echo writable; cat /dev/null && pwd")).toBe(
      "built\nwritable\n/work\n",
    );
    if (other.capabilities.owners) expect(await run(environment, "stat -c %u:%a /opt/owned")).toBe("1000:600\n");
    expect(environment.facts["base"]).toMatchObject({ kind: "rootfs", description: base });
    await environment.destroy(never);
    expect(readdirSync(join(rootfs, "usr"))).not.toContain("built");
  });

  test("that is not there is a configuration error", async () => {
    await using other = await openLocal(cacheDir, { base: "./nothing" });
    await expect(other.probe(never)).rejects.toMatchObject({ code: "config_invalid" });
  });
});
