import { createHash } from "node:crypto";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { findEngine } from "./find-engine.ts";

async function homeWith(files: Record<string, string>): Promise<string> {
  const home = await mkdtemp(join(tmpdir(), "rollout-docker-home-"));
  onTestFinished(() => rm(home, { recursive: true, force: true }));
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(home, path)), { recursive: true });
    await writeFile(join(home, path), text);
  }
  return home;
}

function contextFiles(name: string, host: string, more: object = {}): Record<string, string> {
  const id = createHash("sha256").update(name).digest("hex");
  const meta = { Name: name, Endpoints: { docker: { Host: host, ...more } } };
  return { [`.docker/contexts/meta/${id}/meta.json`]: JSON.stringify(meta) };
}

test("without any setting the engine is at the default socket", async () => {
  const found = await findEngine({ env: {}, home: await homeWith({}) });
  expect(found).toMatchObject({ kind: "unix", socketPath: "/var/run/docker.sock" });
});

test("DOCKER_HOST wins over every context", async () => {
  const home = await homeWith({
    ".docker/config.json": '{"currentContext":"far"}',
    ...contextFiles("far", "tcp://far:1"),
  });
  const env = { DOCKER_HOST: "unix:///run/user/7/docker.sock", DOCKER_CONTEXT: "far" };
  expect(await findEngine({ env, home })).toMatchObject({ kind: "unix", socketPath: "/run/user/7/docker.sock" });
});

test("DOCKER_CONTEXT wins over the current context, which wins over the default", async () => {
  const home = await homeWith({
    ".docker/config.json": '{"currentContext":"here"}',
    ...contextFiles("here", "unix:///here.sock"),
    ...contextFiles("there", "unix:///there.sock"),
  });
  expect(await findEngine({ env: {}, home })).toMatchObject({ socketPath: "/here.sock" });
  expect(await findEngine({ env: { DOCKER_CONTEXT: "there" }, home })).toMatchObject({ socketPath: "/there.sock" });
  expect(await findEngine({ env: { DOCKER_CONTEXT: "default" }, home })).toMatchObject({
    socketPath: "/var/run/docker.sock",
  });
});

test("a context brings its own certificates", async () => {
  const id = createHash("sha256").update("safe").digest("hex");
  const home = await homeWith({
    ...contextFiles("safe", "tcp://engine:2376"),
    [`.docker/contexts/tls/${id}/docker/ca.pem`]: "CA",
  });
  expect(await findEngine({ env: { DOCKER_CONTEXT: "safe" }, home })).toMatchObject({
    kind: "tcp",
    host: "engine",
    port: 2376,
    tls: { ca: "CA", cert: null, key: null, isVerified: true },
  });
});

test("tcp is encrypted when DOCKER_TLS_VERIFY is set, with the files of DOCKER_CERT_PATH", async () => {
  const home = await homeWith({ "certs/ca.pem": "CA", "certs/cert.pem": "CERT", "certs/key.pem": "KEY" });
  const env = { DOCKER_HOST: "tcp://engine", DOCKER_TLS_VERIFY: "1", DOCKER_CERT_PATH: join(home, "certs") };
  expect(await findEngine({ env, home })).toMatchObject({
    port: 2376,
    tls: { ca: "CA", cert: "CERT", key: "KEY", isVerified: true },
  });
  expect(await findEngine({ env: { DOCKER_HOST: "tcp://[::1]:5" }, home })).toMatchObject({ port: 5, tls: null });
});

test("ssh goes through the system's own command", async () => {
  const found = await findEngine({ env: { DOCKER_HOST: "ssh://me@far.example:2222" }, home: await homeWith({}) });
  expect(found).toMatchObject({ kind: "ssh", destination: "me@far.example:2222" });
  const end = ["-l", "me", "-p", "2222", "--", "far.example", "docker", "system", "dial-stdio"];
  expect(found.kind === "ssh" && found.args.slice(-end.length)).toEqual(end);
});

test.each(["ssh://-oProxyCommand=x", "npipe:////./pipe/docker", "nonsense", "tcp://", "ssh://me:pw@host"])(
  "%s is refused as an address",
  async (address) => {
    const finding = findEngine({ env: { DOCKER_HOST: address }, home: await homeWith({}) });
    await expect(finding).rejects.toMatchObject({ code: "provider_unavailable" });
  },
);

test("an unknown context and broken settings are told with their name", async () => {
  const finding = findEngine({ env: { DOCKER_CONTEXT: "gone" }, home: await homeWith({}) });
  await expect(finding).rejects.toThrow('"gone"');
  const home = await homeWith({ ".docker/config.json": "{" });
  await expect(findEngine({ env: {}, home })).rejects.toThrow("config.json is not valid JSON");
});
