import { randomUUID } from "node:crypto";
import { describe, expect, onTestFinished, test } from "vitest";
import type { Environment } from "../../src/environments/environment.ts";
import { changedTools } from "../../src/environments/docker/tools/changed-tools.ts";
import { ImageTools } from "../../src/environments/docker/tools/image-tools.ts";
import { cannotRun } from "../e2e/rollout-cli.ts";
import { findEngines } from "../engines/find-engines.ts";
import { openTestEngine } from "../engines/open-test-engine.ts";
import { openRoom, type EngineRoom } from "./docker/engine-room.ts";

const never = new AbortController().signal;
// Only root can have the files of a container on this machine.
const nobody = 65_534;

// Another file in its place that has the same size, mode, owner and times.
const forge = (path: string): string =>
  `cp -p ${path} /tmp/forged; printf X | dd of=/tmp/forged bs=1 seek=9000 conv=notrunc status=none
touch -r ${path} /tmp/forged; mv /tmp/forged ${path}`;

const changes = (environment: Environment): Promise<readonly string[]> | undefined => environment.changedTools?.(never);

for (const { name, env, reason } of await findEngines()) {
  const on = (title: string, work: (room: EngineRoom) => Promise<void>): void => {
    test(title, async (context) => {
      if (reason !== null) cannotRun(context, reason);
      await work(await openRoom(env, {}, nobody));
    });
  };

  describe(`what ${name} tells about tools where it shares no files with us:`, () => {
    on("little work and much work change none", async ({ create, run }) => {
      const environment = await create();
      await run(environment, "echo hello > /tmp/hello; echo x > /etc/anything");
      expect(await changes(environment)).toEqual([]);
      await run(environment, "head -c 8000000 /dev/urandom > /usr/bin/anything; cp -p /bin/bash /usr/lib/bash");
      expect(await changes(environment)).toEqual([]);
    });

    on(
      "what was looked at ahead serves the look, and is gone with the container",
      async ({ create, run, provider }) => {
        const labels = { "rollout.test": randomUUID() };
        const place = [{ kind: "directory", target: "/box" }] as const;
        const [one, other] = [await create({ labels, place }), await create({ labels, place })];
        await run(one, "echo > /etc/ld.so.preload");
        expect(await changes(one)).toEqual(["/etc/ld.so.preload"]);
        await Promise.all([one.destroy(never), other.destroy(never)]);
        await expect.poll(() => provider.findEnvironments(labels, never), { timeout: 20_000 }).toEqual([]);
      },
    );

    on("one that only looks the same is seen, also where many files were written", async ({ create, run }) => {
      const [one, other] = [await create(), await create()];
      await run(one, forge("/usr/bin/env"));
      expect(await changes(one)).toEqual(["/usr/bin/env"]);
      await run(other, `head -c 8000000 /dev/urandom > /tmp/much; ${forge("/usr/bin/dash")}`);
      expect(await changes(other)).toEqual(["/usr/bin/dash"]);
    });

    on("one behind a link, a link and a new file are seen", async ({ create, run }) => {
      const environment = await create();
      const library = (await run(environment, "readlink -f /usr/lib/*/libtinfo.so.6")).stdout.toString().trim();
      await run(environment, `${forge(library)}; ln -sf bash /usr/bin/sh; echo > /etc/ld.so.preload`);
      expect(await changes(environment)).toEqual(
        expect.arrayContaining([library, "/usr/bin/sh", "/etc/ld.so.preload"]),
      );
    });

    on("one that only looks the same is seen by its content where layers cannot be told", async ({ create, run }) => {
      const engine = { ...(await openTestEngine(env)), layer: "compared" as const };
      onTestFinished(() => engine.client[Symbol.dispose]());
      const imageTools = new ImageTools(engine);
      const environment = await create();
      const tools = { engine, id: environment.id, root: null, before: null, imageTools, mountPoints: [] };
      const look = (): Promise<readonly string[]> =>
        changedTools({ ...tools, borrow: async (work) => work((await create()).id) }, never);
      expect(await look()).toEqual([]);
      await run(environment, forge("/usr/bin/env"));
      expect(await look()).toEqual(["/usr/bin/env"]);
    });
  });
}
