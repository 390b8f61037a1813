import { describe, expect, test } from "vitest";
import type { Environment } from "../../src/environments/environment.ts";
import { cannotRun } from "../e2e/rollout-cli.ts";
import { findEngines } from "../engines/find-engines.ts";
import { openRoom, type EngineRoom } from "./docker/engine-room.ts";

const never = new AbortController().signal;
// Only root can have the files of a container on this machine.
const nobody = 65_534;
const remove = (environment: Environment, ...targets: readonly string[]): Promise<void> =>
  environment.copyTo(
    targets.map((target) => ({ kind: "remove", target })),
    never,
  );
const withoutMarks = (text: string): string[] => text.split("\n").filter((line) => !line.startsWith("ROLLOUT_"));

for (const { name, env, reason } of await findEngines()) {
  const on = (title: string, work: (room: EngineRoom) => Promise<void>): void => {
    test(title, async (context) => {
      if (reason !== null) cannotRun(context, reason);
      await work(await openRoom(env, {}, nobody));
    });
  };

  describe(`what is removed on ${name} with the next command:`, () => {
    on("is gone when the command begins, which finds its variables as ever", async ({ create, run }) => {
      const environment = await create();
      const variables = { "a.b": "1", BASH_ENV: "/nowhere", PLAIN: "two\nlines" };
      const before = await run(environment, "env; mkdir -p '/some thing/in'; ln -s / /way", { env: variables });
      await remove(environment, "/some thing", "/way", "/never/there");
      await environment.copyTo([{ kind: "file", target: "/new", content: Buffer.from("x"), mode: 0o644 }], never);
      const after = await run(environment, "env; ls -d '/some thing' /way 2>/dev/null", { env: variables });
      expect(withoutMarks(after.stdout.toString())).toEqual(withoutMarks(before.stdout.toString()));
      expect((await run(environment, "cat /new; ls -d /usr")).stdout.toString()).toBe("x/usr\n");
    });

    on("is removed for others than root as well, and before anything is copied out", async ({ create, run }) => {
      const environment = await create();
      await run(environment, "mkdir /mine; echo 1 > /mine/file");
      await remove(environment, "/mine/file");
      expect((await run(environment, "ls /mine", { user: "nobody" })).stdout.toString()).toBe("");
      await run(environment, "echo 1 > /mine/file");
      await remove(environment, "/mine");
      const copy = environment.copyFrom({
        source: "/mine",
        target: "/nowhere",
        renames: {},
        signal: never,
      });
      await expect(copy).rejects.toMatchObject({ code: "not_found" });
    });

    on("fails the command when it cannot be removed", async ({ create, run }) => {
      const environment = await create();
      await remove(environment, "/etc/hosts");
      await expect(run(environment, "touch /ran")).rejects.toMatchObject({
        code: "copy_failed",
        message: expect.stringContaining("/etc/hosts") as string,
      });
      expect((await run(environment, "ls /ran; exit 121")).exitCode).toBe(121);
    });
  });
}
