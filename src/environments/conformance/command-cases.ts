import assert from "node:assert/strict";
import { systemClock } from "../../base/clock.ts";
import { RolloutError } from "../../base/rollout-error.ts";
import type { ConformanceCase } from "./conformance-case.ts";
import { runCommand, runScript, within } from "./run-command.ts";

/** How commands end, what they print and what they see. */
export const commandCases: readonly ConformanceCase[] = [
  {
    title: "a command that succeeds ends with exit code 0",
    needs: ["shell"],
    async run({ createEnvironment, signal }) {
      const {
        exitCode,
        signal: killer,
        outOfMemory,
      } = await runCommand(await createEnvironment(), ["true"], { signal });
      assert.deepEqual({ exitCode, killer, outOfMemory }, { exitCode: 0, killer: null, outOfMemory: false });
    },
  },
  {
    title: "a command that fails is a result with its exit code",
    needs: ["shell"],
    async run({ createEnvironment, signal }) {
      assert.equal((await runScript(await createEnvironment(), "exit 3", { signal })).exitCode, 3);
    },
  },
  {
    title: "a command that does not exist ends with 126 or 127 and leaves the environment usable",
    needs: ["shell"],
    async run({ createEnvironment, signal }) {
      const environment = await createEnvironment();
      const { exitCode } = await runCommand(environment, ["/no/such/command"], { signal });
      assert.ok(exitCode === 126 || exitCode === 127, `exit code ${exitCode}`);
      assert.equal((await runCommand(environment, ["true"], { signal })).exitCode, 0);
    },
  },
  {
    title: "a command that a signal killed says so, by name or as 128 plus its number",
    needs: ["shell"],
    async run({ createEnvironment, signal }) {
      const result = await runScript(await createEnvironment(), "kill -KILL $$", { signal });
      if (result.exitCode === null) assert.equal(result.signal, "SIGKILL");
      else assert.equal(result.exitCode, 137);
    },
  },
  {
    title: "arguments reach the command as they are",
    needs: ["shell"],
    async run({ createEnvironment, signal }) {
      const words = ["a b", "$HOME", "", "*", 'it\'s "quoted"', "back\\slash", "-n", "zwei\nZeilen", "世界"];
      const result = await runCommand(await createEnvironment(), ["printf", "<%s>", ...words], { signal });
      assert.equal(result.stdout.toString(), words.map((word) => `<${word}>`).join(""));
    },
  },
  {
    title: "standard output and standard error stay apart",
    needs: ["shell"],
    async run({ createEnvironment, signal }) {
      const result = await runScript(await createEnvironment(), "echo out; echo err >&2; echo out; echo err >&2", {
        signal,
      });
      assert.equal(result.stdout.toString(), "out\nout\n");
      assert.equal(result.stderr.toString(), "err\nerr\n");
    },
  },
  {
    title: "every byte value arrives unchanged on both streams",
    needs: ["shell"],
    async run({ createEnvironment, signal }) {
      const script = 'bytes() { for i in $(seq 0 255); do printf "\\\\$(printf %03o $i)"; done; }; bytes; bytes >&2';
      const result = await runScript(await createEnvironment(), script, { signal });
      const everyByte = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte));
      assert.deepEqual(result.stdout, everyByte);
      assert.deepEqual(result.stderr, everyByte);
    },
  },
  {
    title: "characters of several bytes arrive whole although they were written in pieces",
    needs: ["shell"],
    async run({ createEnvironment, signal }) {
      const script = "printf '\\360\\237'; sleep 0.1; printf '\\216\\211'; printf 'é世\\n'";
      const result = await runScript(await createEnvironment(), script, { signal });
      assert.equal(result.stdout.toString("utf8"), "🎉é世\n");
    },
  },
  {
    title: "output without a last line break is delivered before the command is over",
    needs: ["shell"],
    async run({ createEnvironment, signal }) {
      const environment = await createEnvironment();
      for (let round = 0; round < 5; round++) {
        assert.equal((await runScript(environment, "printf last", { signal })).stdout.toString(), "last");
      }
    },
  },
  {
    title: "twenty megabytes of output arrive complete",
    needs: ["shell"],
    async run({ createEnvironment, signal }) {
      let bytes = 0;
      const stdout = { write: (chunk: Uint8Array) => void (bytes += chunk.length) };
      await runScript(await createEnvironment(), "head -c 20000000 /dev/zero", { signal, stdout });
      assert.equal(bytes, 20_000_000);
    },
  },
  {
    title: "a slow reader holds the command back instead of filling memory",
    needs: ["shell"],
    async run({ createEnvironment, scratch, signal }) {
      const environment = await createEnvironment({ place: [{ kind: "directory", target: scratch }] });
      const held = Promise.withResolvers<void>();
      const reached = Promise.withResolvers<void>();
      let bytes = 0;
      const stdout = {
        write(chunk: Uint8Array) {
          bytes += chunk.length;
          reached.resolve();
          return held.promise;
        },
      };
      const script = `head -c 64000000 /dev/zero; touch "${scratch}/done"`;
      const running = runScript(environment, script, { signal, stdout });
      try {
        await Promise.race([reached.promise, running]);
        await systemClock.sleep(1000, signal);
        const check = await runScript(environment, `test -e "${scratch}/done"`, { signal });
        assert.notEqual(check.exitCode, 0, "the command wrote everything although nobody had read it");
      } finally {
        held.resolve();
        await running;
      }
      assert.equal(bytes, 64_000_000);
    },
  },
  {
    title: "standard input is at its end from the start",
    needs: ["shell"],
    async run(subject) {
      const environment = await subject.createEnvironment();
      const result = await within(subject, "a command that reads its standard input never ends", (limit) =>
        runScript(environment, "cat; read -r line || echo closed", { signal: limit }),
      );
      assert.equal(result.stdout.toString(), "closed\n");
    },
  },
  {
    title: "a command is over when it ends, although a daemon it left holds its output open",
    needs: ["shell"],
    async run(subject) {
      const environment = await subject.createEnvironment();
      const result = await within(subject, "the command waits for its daemon", (limit) =>
        runScript(environment, "echo started; sleep 600 & exit 4", { signal: limit }),
      );
      assert.equal(result.exitCode, 4);
      assert.equal(result.stdout.toString(), "started\n");
    },
  },
  {
    title: "commands that run at the same time keep their output apart",
    needs: ["shell"],
    async run({ createEnvironment, signal }) {
      const environment = await createEnvironment();
      const script = 'for i in $(seq 300); do echo "$WHO out"; echo "$WHO err" >&2; done';
      const runs = Array.from({ length: 6 }, async (_, index) => {
        const result = await runScript(environment, script, { signal, env: { WHO: `w${index}` } });
        assert.equal(result.stdout.toString(), `w${index} out\n`.repeat(300));
        assert.equal(result.stderr.toString(), `w${index} err\n`.repeat(300));
      });
      await Promise.all(runs);
    },
  },
  {
    title: "a command whose signal is already aborted is not run",
    needs: ["shell"],
    async run({ createEnvironment, scratch, signal }) {
      const environment = await createEnvironment({ place: [{ kind: "directory", target: scratch }] });
      const reason = new RolloutError("exec_failed", "aborted before the start");
      const aborted = AbortSignal.abort(reason);
      await assert.rejects(
        runScript(environment, `touch "${scratch}/ran"`, { signal: aborted }),
        (error) => error === reason,
      );
      assert.equal((await runScript(environment, `ls -A "${scratch}"`, { signal })).stdout.toString(), "");
    },
  },
];
