import assert from "node:assert/strict";
import { lstat, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { ConformanceCase } from "./conformance-case.ts";
import { readBack } from "./read-back.ts";
import { runCommand, runScript } from "./run-command.ts";

const oddValues = {
  QUOTES: 'it\'s "both"',
  LINES: "one\ntwo\n",
  DOLLAR: "$HOME `id` \\n",
  EQUALS: "a=b=c",
  EMPTY: "",
  SPACES: "  wide  ",
  UNICODE: "größe 世界 🎉",
};

/** What a command finds around it: variables, directory, user, files, limits. */
export const surroundingsCases: readonly ConformanceCase[] = [
  {
    title: "variables of a command are added to the image's own",
    needs: ["shell"],
    async run({ createEnvironment, signal }) {
      const script = 'echo "$ROLLOUT_GIVEN"; test -n "$PATH"';
      const result = await runScript(await createEnvironment(), script, { signal, env: { ROLLOUT_GIVEN: "yes" } });
      assert.deepEqual([result.stdout.toString(), result.exitCode], ["yes\n", 0]);
    },
  },
  {
    title: "variables of one command are gone in the next",
    needs: ["shell"],
    async run({ createEnvironment, signal }) {
      const environment = await createEnvironment();
      await runScript(environment, "true", { signal, env: { ROLLOUT_GIVEN: "yes" } });
      const result = await runScript(environment, 'echo "${ROLLOUT_GIVEN-unset}"', { signal });
      assert.equal(result.stdout.toString(), "unset\n");
    },
  },
  {
    title: "variables keep quotes, line breaks, dollars and other odd characters",
    needs: ["shell"],
    async run({ createEnvironment, signal }) {
      const environment = await createEnvironment();
      for (const [name, value] of Object.entries(oddValues)) {
        const result = await runScript(environment, `printf %s "\${${name}-unset}"`, { signal, env: oddValues });
        assert.equal(result.stdout.toString(), value, name);
      }
    },
  },
  {
    title: "a command runs in the environment's working directory when none is given",
    needs: ["shell"],
    async run({ createEnvironment, signal }) {
      const environment = await createEnvironment();
      const result = await runScript(environment, "pwd -P", { signal });
      assert.equal(result.stdout.toString(), `${environment.workdir}\n`);
    },
  },
  {
    title: "a command runs in the directory it is given",
    needs: ["shell"],
    async run({ createEnvironment, scratch, signal }) {
      const cwd = `${scratch}/with space`;
      const environment = await createEnvironment({ place: [{ kind: "directory", target: cwd }] });
      assert.equal((await runScript(environment, "pwd", { signal, cwd })).stdout.toString(), `${cwd}\n`);
    },
  },
  {
    title: "a command runs as the user it is given",
    needs: ["shell", "users"],
    async run({ createEnvironment, signal }) {
      const result = await runCommand(await createEnvironment(), ["id", "-un"], { signal, user: "nobody", cwd: "/" });
      assert.equal(result.stdout.toString(), "nobody\n");
    },
  },
  {
    title: "a placed directory can be written to by every user",
    needs: ["shell", "users"],
    async run({ createEnvironment, signal }) {
      const target = "/tmp/rollout-conformance-everybody";
      const environment = await createEnvironment({ place: [{ kind: "directory", target }] });
      const request = { signal, user: "nobody", cwd: "/" };
      const result = await runScript(environment, `echo mine > ${target}/file && cat ${target}/file`, request);
      await environment.copyTo([{ kind: "remove", target }], signal);
      assert.equal(result.stdout.toString(), "mine\n");
    },
  },
  {
    title: "what is placed at the creation is there for the first command",
    needs: ["shell"],
    async run({ createEnvironment, scratch, signal }) {
      const script = {
        kind: "file",
        content: "#!/bin/sh\necho ran\n",
        target: `${scratch}/bin/run`,
        mode: 0o755,
      } as const;
      const environment = await createEnvironment({ place: [script] });
      assert.equal((await runCommand(environment, [script.target], { signal })).stdout.toString(), "ran\n");
    },
  },
  {
    title: "files that a command wrote can be copied out",
    needs: ["shell"],
    async run(subject) {
      const { scratch, signal } = subject;
      const environment = await subject.createEnvironment({ place: [{ kind: "directory", target: scratch }] });
      await runScript(environment, `mkdir "${scratch}/out" && echo 1 > "${scratch}/out/reward.txt"`, { signal });
      const { report } = await readBack(subject, environment, `${scratch}/out`);
      assert.deepEqual(report, { files: 1, bytes: 2, refused: [] });
    },
  },
  {
    title: "owners of files survive a copy in",
    needs: ["shell", "owners"],
    async run({ createEnvironment, hostDir, scratch, signal }) {
      const source = join(hostDir, "owned");
      await mkdir(source);
      await writeFile(join(source, "file"), "");
      const { uid, gid } = await lstat(join(source, "file"));
      const environment = await createEnvironment({ place: [{ kind: "tree", source, target: `${scratch}/owned` }] });
      const result = await runCommand(environment, ["stat", "-c", "%u:%g", `${scratch}/owned/file`], { signal });
      assert.equal(result.stdout.toString(), `${uid}:${gid}\n`);
    },
  },
  {
    title: "a command that takes more memory than the limit is killed and marked as out of memory",
    needs: ["shell", "limits.memory"],
    async run({ createEnvironment, signal }) {
      const limits = { cpus: 1, memoryBytes: 128 * 2 ** 20, storageBytes: 2 ** 30 };
      const environment = await createEnvironment({ limits });
      const hungry = ["dd", "if=/dev/zero", "of=/dev/null", "bs=512M", "count=1"];
      assert.equal((await runCommand(environment, hungry, { signal })).outOfMemory, true);
    },
  },
  {
    title: "what the memory limit killed is told of the command that started it, also when that ended well",
    needs: ["shell", "limits.memory"],
    async run({ createEnvironment, signal }) {
      const limits = { cpus: 1, memoryBytes: 128 * 2 ** 20, storageBytes: 2 ** 30 };
      const environment = await createEnvironment({ limits });
      const script = "dd if=/dev/zero of=/dev/null bs=512M count=1; sleep 1; true";
      const { exitCode, outOfMemory } = await runScript(environment, script, { signal });
      assert.deepEqual({ exitCode, outOfMemory }, { exitCode: 0, outOfMemory: true });
      assert.equal((await runScript(environment, "exit 1", { signal })).outOfMemory, false);
    },
  },
  {
    title: "a command cannot store more than the limit",
    needs: ["shell", "limits.storage"],
    async run({ createEnvironment, signal }) {
      const limits = { cpus: 1, memoryBytes: 512 * 2 ** 20, storageBytes: 64 * 2 ** 20 };
      const environment = await createEnvironment({ limits });
      const greedy = ["dd", "if=/dev/zero", `of=${environment.workdir}/greedy`, "bs=1M", "count=256"];
      assert.notEqual((await runCommand(environment, greedy, { signal })).exitCode, 0);
    },
  },
  {
    title: "no more processes run at once than the limit allows, and all of them can still be ended",
    needs: ["shell", "limits.pids"],
    async run({ createEnvironment, signal }) {
      const limits = { cpus: 1, memoryBytes: 512 * 2 ** 20, storageBytes: 2 ** 30, pids: 64 };
      const environment = await createEnvironment({ limits });
      const stop = new AbortController();
      let [counts, isRefused] = ["", false];
      const script = "for i in {1..200}; do sleep 300 & set -- /proc/[0-9]*; echo $#; done; sleep 300";
      const running = environment.exec({
        command: ["bash", "-c", script],
        env: {},
        stdout: {
          write(chunk) {
            counts += Buffer.from(chunk).toString();
            if (counts.split("\n").length > 200) stop.abort(new Error("enough"));
          },
        },
        stderr: {
          // A shell that cannot start a process says so, and tries again for some seconds.
          write() {
            isRefused = true;
            stop.abort(new Error("enough"));
          },
        },
        signal: AbortSignal.any([signal, stop.signal]),
      });
      await assert.rejects(running, /enough/);
      assert.equal(isRefused, true);
      const most = Math.max(...counts.trim().split("\n").map(Number));
      assert.ok(most > 16 && most <= 64, `${most} processes ran at once`);
      await environment.killProcesses(signal);
      assert.deepEqual(await environment.listProcesses(signal), []);
    },
  },
  {
    title: "where it is told how much can still be written, that is less once something was",
    needs: ["shell"],
    async run({ createEnvironment, signal }) {
      const environment = await createEnvironment();
      const before = (await environment.freeBytes?.(signal)) ?? null;
      if (before === null) return;
      const { exitCode } = await runScript(environment, "head -c 4M /dev/zero > /tmp/written", { signal });
      assert.equal(exitCode, 0);
      const after = (await environment.freeBytes?.(signal)) ?? null;
      assert.ok(after !== null && after <= before - 4 * 1024 * 1024, `${after} after ${before}`);
    },
  },
];
