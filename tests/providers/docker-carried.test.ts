import { chmod, chown, mkdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { Environment, Placement } from "../../src/environments/environment.ts";
import { cannotRun } from "../e2e/rollout-cli.ts";
import { findEngines } from "../engines/find-engines.ts";
import { makeRoom, openRoom, type EngineRoom } from "./docker/engine-room.ts";

const never = new AbortController().signal;
// Only root can have the files of a container on this machine.
const nobody = 65_534;
const remove = (environment: Environment, ...targets: readonly string[]): Promise<void> =>
  environment.copyTo(
    targets.map((target) => ({ kind: "remove", target })),
    never,
  );
const file = (target: string, content: string | Uint8Array, mode = 0o644): Placement => ({
  kind: "file",
  target,
  content,
  mode,
});
const withoutMarks = (text: string): string[] => text.split("\n").filter((line) => !line.startsWith("ROLLOUT_"));
const awkward = 'it\'s "quoted" $HOME `id` \\n %s !\n\ttab\r\nänderung 🦊 no end of line';

/** A tree with all that small ones have. */
async function writeTree(): Promise<string> {
  const source = join(await makeRoom(), "tree");
  await mkdir(join(source, "a folder"), { recursive: true });
  await writeFile(join(source, "a folder", "it's"), awkward);
  await writeFile(join(source, "run.sh"), "echo ran\n");
  await writeFile(join(source, "empty"), "");
  await chmod(join(source, "run.sh"), 0o755);
  await chmod(join(source, "empty"), 0o600);
  await chmod(join(source, "a folder"), 0o1777);
  await symlink("run.sh", join(source, "way"));
  await chown(join(source, "empty"), 1000, 1001);
  return source;
}

const describeTree =
  'cd /tree; find . -printf "%p %y %m %U:%G %l\\n" | LC_ALL=C sort; cat "a folder/it\'s" | base64 -w0; umask; bash way';

for (const { name, env, reason } of await findEngines()) {
  const on = (title: string, work: (room: EngineRoom) => Promise<void>): void => {
    test(title, async (context) => {
      if (reason !== null) cannotRun(context, reason);
      const room = await openRoom(env, {}, nobody);
      // From the second container of an image on it is known what that has to place things with.
      const first = await room.create({ place: [{ kind: "directory", target: "/box" }] });
      await room.run(first, "true");
      await first.destroy(never);
      await work(room);
    });
  };

  describe(`what is removed on ${name} with the next command:`, () => {
    on("is gone when the command begins, which finds its variables as ever", async ({ create, run }) => {
      const environment = await create();
      const variables = { "a.b": "1", BASH_ENV: "/nowhere", PLAIN: "two\nlines" };
      const before = await run(environment, "env; mkdir -p '/some thing/in'; ln -s / /way", { env: variables });
      await remove(environment, "/some thing", "/way", "/never/there");
      await environment.copyTo([file("/new", "x")], never);
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

  describe(`what is placed on ${name} with the next command:`, () => {
    on("is the same as by an archive, byte for byte, with its modes, owners and links", async ({ create, run }) => {
      const [carried, archived] = [await create(), await create()];
      const tree: Placement = { kind: "tree", source: await writeTree(), target: "/tree" };
      await run(archived, "mkdir -p /tree/old; echo old > /tree/run.sh");
      await archived.copyTo([tree, file("/tmp/binary", Buffer.from([0, 255]))], never);
      await run(carried, "mkdir -p /tree/old; echo old > /tree/run.sh");
      await carried.listProcesses(never);
      await carried.copyTo([tree], never);
      const seen = (await run(carried, describeTree)).stdout.toString();
      expect(seen).toBe((await run(archived, describeTree)).stdout.toString());
      expect(seen).toContain(Buffer.from(awkward).toString("base64"));
      expect(seen).toContain("./empty f 600 1000:1001");
      expect(seen).toContain("0022\nran\n");
      expect(seen).not.toContain("./old");
    });

    on("is there whoever runs the command, and for whoever copies it out", async ({ create, run }) => {
      const environment = await create({ place: [{ kind: "directory", target: "/box" }, file("/box/first", "1")] });
      expect((await run(environment, "cat /box/first; id -un", { user: "nobody" })).stdout.toString()).toBe(
        "1nobody\n",
      );
      await environment.listProcesses(never);
      await environment.copyTo([file("/box/second", "2", 0o600)], never);
      const target = join(await makeRoom(), "second");
      await environment.copyFrom({ source: "/box/second", target, signal: never });
      expect((await run(environment, "cat /box/second")).stdout.toString()).toBe("2");
    });

    on("comes at once where something runs that may wait for it", async ({ create, run }) => {
      const environment = await create();
      const waiting = "until [ -e /come ]; do sleep 0.05; done; echo seen > /seen";
      await run(environment, `(${waiting}) </dev/null >/dev/null 2>&1 &`);
      expect(await environment.listProcesses(never)).not.toEqual([]);
      await environment.copyTo([file("/come", "x")], never);
      await expect.poll(() => environment.listProcesses(never), { timeout: 10_000 }).toEqual([]);
      expect((await run(environment, "cat /seen")).stdout.toString()).toBe("seen\n");
    });

    on("fails the command, which does not run, when there is no way to it", async ({ create, run }) => {
      const environment = await create();
      await run(environment, "true");
      await environment.listProcesses(never);
      await environment.copyTo([file("/proc/nothing/here", "x")], never);
      await expect(run(environment, "touch /ran")).rejects.toMatchObject({ code: "copy_failed" });
      const after = await run(environment, "ls /ran; echo rollout >&2; printf r >&2; exit 121");
      expect(after).toMatchObject({ exitCode: 121 });
      expect(after.stdout.toString()).toBe("");
      expect(after.stderr.toString()).toContain("rollout\nr");
    });

    on("leaves no trace in what a command prints first", async ({ create, run }) => {
      const environment = await create();
      await run(environment, "true");
      await environment.listProcesses(never);
      await environment.copyTo([file("/x", "x")], never);
      const { stderr } = await run(environment, "printf rollout- >&2");
      expect(stderr.toString()).toBe("rollout-");
    });
  });
}
