import { chmod, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { readHost, type Host } from "../../base/host.ts";
import { encodeAuth, findRegistryAuth, readAllAuth, registryOf } from "./registry-auth.ts";

const signal = new AbortController().signal;

async function hostWith(config: object, helpers: Record<string, string> = {}): Promise<Host> {
  const home = await mkdtemp(join(tmpdir(), "rollout-auth-"));
  onTestFinished(() => rm(home, { recursive: true, force: true }));
  await mkdir(join(home, ".docker"));
  await mkdir(join(home, "bin"));
  await writeFile(join(home, ".docker", "config.json"), JSON.stringify(config));
  for (const [name, script] of Object.entries(helpers)) {
    await writeFile(join(home, "bin", `docker-credential-${name}`), `#!/bin/sh\n${script}\n`);
    await chmod(join(home, "bin", `docker-credential-${name}`), 0o755);
  }
  return { ...readHost(process), home, env: { PATH: `${join(home, "bin")}:${process.env["PATH"]}` } };
}

const basic = (text: string): string => Buffer.from(text).toString("base64");

test.each([
  ["ubuntu:24.04", "https://index.docker.io/v1/"],
  ["team/image", "https://index.docker.io/v1/"],
  ["docker.io/team/image:1", "https://index.docker.io/v1/"],
  ["localhost/image", "localhost"],
  ["localhost:5000/image:1", "localhost:5000"],
  ["registry.example/team/image@sha256:0", "registry.example"],
])("%s is of the registry %s", (reference, registry) => expect(registryOf(reference)).toBe(registry));

test("stored credentials are found with and without a scheme, and a password may hold colons", async () => {
  const host = await hostWith({
    auths: {
      "https://registry.example/v1/": { auth: basic("me:pa:ss") },
      "https://index.docker.io/v1/": { auth: basic("hub:x") },
    },
  });
  expect(await findRegistryAuth(host, "registry.example", signal)).toMatchObject({ username: "me", password: "pa:ss" });
  expect(await findRegistryAuth(host, "registry-1.docker.io", signal)).toMatchObject({ username: "hub" });
  expect(await findRegistryAuth(host, "other.example", signal)).toBeNull();
});

test("a helper of the registry wins over the general one, and over what is stored", async () => {
  const answer = (name: string): string => `read server; echo '{"Username":"${name}","Secret":"'"$server"'"}'`;
  const host = await hostWith(
    {
      auths: { "one.example": { auth: basic("stored:x") } },
      credsStore: "all",
      credHelpers: { "two.example": "two" },
    },
    { all: answer("all"), two: answer("two") },
  );
  expect(await findRegistryAuth(host, "one.example", signal)).toMatchObject({
    username: "all",
    password: "one.example",
  });
  expect(await findRegistryAuth(host, "two.example", signal)).toMatchObject({ username: "two" });
  expect(Object.keys(await readAllAuth(host, signal))).toEqual(["one.example", "two.example"]);
});

test("a helper that knows nothing is no error, one that is missing is", async () => {
  const host = await hostWith({ credHelpers: { "a.example": "empty", "b.example": "gone" } }, { empty: "exit 1" });
  expect(await findRegistryAuth(host, "a.example", signal)).toBeNull();
  await expect(findRegistryAuth(host, "b.example", signal)).rejects.toMatchObject({ code: "image_pull_failed" });
});

test("a token of a helper is an identity token", async () => {
  const host = await hostWith({ credsStore: "t" }, { t: `echo '{"Username":"<token>","Secret":"tok"}'` });
  const auth = await findRegistryAuth(host, "a.example", signal);
  expect(auth).toMatchObject({ identityToken: "tok" });
  const wire: unknown = JSON.parse(Buffer.from(encodeAuth(auth!), "base64url").toString());
  expect(wire).toEqual({ identitytoken: "tok", serveraddress: "a.example" });
});
