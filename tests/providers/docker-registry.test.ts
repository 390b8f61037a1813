import { mkdir, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { collect } from "../../src/environments/conformance/run-command.ts";
import { cannotRun } from "../e2e/rollout-cli.ts";
import { findEngines } from "../engines/find-engines.ts";
import { makeRoom, openRoom } from "./docker/engine-room.ts";

const never = new AbortController().signal;
const right = `Basic ${Buffer.from("me:the password").toString("base64")}`;

/** A registry on loopback that wants a password and holds nothing; it counts how often it was given the right one. */
async function openRegistry(): Promise<{ readonly host: string; readonly admitted: () => number }> {
  let admitted = 0;
  const server = createServer((request, response) => {
    if (request.headers.authorization !== right) {
      response.writeHead(401, { "www-authenticate": 'Basic realm="registry"' }).end();
      return;
    }
    admitted++;
    const found = request.url === "/v2/";
    response.writeHead(found ? 200 : 404, { "docker-distribution-api-version": "registry/2.0" }).end("{}");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  return { host: `127.0.0.1:${(server.address() as AddressInfo).port}`, admitted: () => admitted };
}

async function loggedIn(host: string): Promise<Record<string, string>> {
  const directory = join(await makeRoom(), "docker");
  await mkdir(directory);
  const auth = Buffer.from("me:the password").toString("base64");
  await writeFile(join(directory, "config.json"), JSON.stringify({ auths: { [host]: { auth } } }));
  return { DOCKER_CONFIG: directory };
}

for (const { name, env, reason } of (await findEngines()).filter(({ name }) => name === "docker")) {
  describe(`a registry that wants a password, on ${name}:`, () => {
    test("a pull brings the credentials that docker login stored, and fails without them", async (context) => {
      if (reason !== null) cannotRun(context, reason);
      const { host, admitted } = await openRegistry();
      const plan = { kind: "pull", key: "k", ref: `${host}/team/image:1` } as const;
      const stranger = await openRoom({ ...env, DOCKER_CONFIG: await makeRoom() });
      const refused = stranger.provider.pullImage({ plan, output: collect(), signal: never });
      await expect(refused).rejects.toMatchObject({ code: "image_pull_failed" });
      expect(admitted()).toBe(0);
      const member = await openRoom({ ...env, ...(await loggedIn(host)) });
      const missing = member.provider.pullImage({ plan, output: collect(), signal: never });
      await expect(missing).rejects.toMatchObject({ code: "image_pull_failed" });
      expect(admitted()).toBeGreaterThan(0);
    });

    test("a build asks for them when its base image needs them", async (context) => {
      if (reason !== null) cannotRun(context, reason);
      const { host, admitted } = await openRegistry();
      const member = await openRoom({ ...env, ...(await loggedIn(host)) });
      const building = member.build({ Dockerfile: `FROM ${host}/team/base:1\n` });
      await expect(building).rejects.toMatchObject({
        code: "image_build_failed",
        message: expect.stringContaining(`${host}/team/base:1`),
      });
      expect(admitted()).toBeGreaterThan(0);
    });
  });
}
