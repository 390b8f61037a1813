import assert from "node:assert/strict";
import { systemClock } from "../../base/clock.ts";
import { RolloutError } from "../../base/rollout-error.ts";
import type { Environment } from "../environment.ts";
import type { ConformanceCase, ConformanceSubject } from "./conformance-case.ts";
import { readBack, summarizeTree } from "./read-back.ts";
import { collect, runScript, within } from "./run-command.ts";

// A beat every moment until it is killed: a file that stays as it is shows that nobody lives, zombies included.
const beat = 'while :; do echo beat >> "$BEAT"; sleep 0.05; done';
const quiet = "</dev/null >/dev/null 2>&1";
const waitForBeat = 'until [ -s "$BEAT" ]; do sleep 0.02; done; echo ready';

const daemons: Readonly<Record<string, string>> = {
  "a child in the background": `bash -c "$LOOP" &`,
  "a daemon in a session of its own": `setsid bash -c "$LOOP" ${quiet} &`,
  "a daemon that forked twice": `( ( bash -c "$LOOP" ${quiet} & ) & )`,
  "a daemon that was started with nohup": `nohup bash -c "$LOOP" ${quiet} &`,
  "a daemon that ignores every polite signal": `setsid bash -c "trap '' TERM HUP INT QUIT; $LOOP" ${quiet} &`,
};

interface Beating {
  readonly environment: Environment;
  readonly file: string;
  readonly env: Readonly<Record<string, string>>;
}

async function prepare({ createEnvironment, scratch }: ConformanceSubject): Promise<Beating> {
  const environment = await createEnvironment({ place: [{ kind: "directory", target: scratch }] });
  const file = `${scratch}/beat`;
  return { environment, file, env: { BEAT: file, LOOP: beat } };
}

async function countBeats(environment: Environment, file: string, signal: AbortSignal): Promise<number> {
  return (await runScript(environment, `cat "${file}"`, { signal })).stdout.length;
}

async function assertStill(subject: ConformanceSubject, { environment, file }: Beating): Promise<void> {
  const { signal } = subject;
  const before = await countBeats(environment, file, signal);
  assert.ok(before > 0, "the daemon never started");
  await systemClock.sleep(400, signal);
  assert.equal(await countBeats(environment, file, signal), before, "something is still alive and writes");
}

async function assertBeating(subject: ConformanceSubject, { environment, file }: Beating): Promise<void> {
  const before = await countBeats(environment, file, subject.signal);
  await within(subject, "nothing writes any more", async (limit) => {
    while ((await countBeats(environment, file, limit)) === before) await systemClock.sleep(20, limit);
  });
}

// Runs a script until it prints something, aborts it then, and gives what it had printed.
async function abortOnceReady(subject: ConformanceSubject, { environment, env }: Beating, script: string) {
  const controller = new AbortController();
  const reason = new RolloutError("exec_failed", "the deadline of the case");
  const output = collect();
  const stdout = {
    write(chunk: Uint8Array) {
      void output.write(chunk);
      if (output.text().includes("ready")) controller.abort(reason);
    },
  };
  const running = within(subject, "an aborted command never settles", (limit) =>
    runScript(environment, script, { env, stdout, signal: AbortSignal.any([controller.signal, limit]) }),
  );
  await assert.rejects(
    running,
    (error) => error === reason,
    "an aborted command rejects with the reason of its signal",
  );
  return output.text();
}

const abortCases = Object.entries(daemons).map(([what, start]): ConformanceCase => ({
  title: `aborting a command kills ${what}`,
  needs: ["shell"],
  async run(subject) {
    const beating = await prepare(subject);
    await abortOnceReady(subject, beating, `${start}\n${waitForBeat}; sleep 600`);
    await assertStill(subject, beating);
  },
}));

/** What lives beside a command, and what ends it. */
export const processCases: readonly ConformanceCase[] = [
  ...abortCases,
  {
    title: "aborting a command kills the command itself, also when it ignores polite signals",
    needs: ["shell"],
    async run(subject) {
      const beating = await prepare(subject);
      const script = `trap '' TERM HUP INT; echo beat >> "$BEAT"; echo ready; ${beat}`;
      assert.equal(await abortOnceReady(subject, beating, script), "ready\n");
      await assertStill(subject, beating);
    },
  },
  {
    title: "aborting one command leaves another one running",
    needs: ["shell"],
    async run(subject) {
      const { signal } = subject;
      const beating = await prepare(subject);
      const { environment, file } = beating;
      const other = runScript(environment, `until [ -e "${file}.go" ]; do sleep 0.02; done; echo finished`, { signal });
      other.catch(() => {});
      await abortOnceReady(subject, beating, `(${beat}) & ${waitForBeat}; sleep 600`);
      await environment.copyTo([{ kind: "file", content: "", target: `${file}.go`, mode: 0o644 }], signal);
      assert.equal((await other).stdout.toString(), "finished\n");
    },
  },
  {
    title: "a signal that is aborted after the end changes nothing",
    needs: ["shell"],
    async run(subject) {
      const beating = await prepare(subject);
      const controller = new AbortController();
      const script = `setsid bash -c "$LOOP" ${quiet} & ${waitForBeat}`;
      const result = await runScript(beating.environment, script, { env: beating.env, signal: controller.signal });
      controller.abort();
      assert.equal(result.exitCode, 0);
      await assertBeating(subject, beating);
    },
  },
  {
    title: "daemons outlive the command that started them and are listed",
    needs: ["shell"],
    async run(subject) {
      const { signal } = subject;
      const environment = await subject.createEnvironment();
      await runScript(environment, `setsid sleep 61234 ${quiet} &`, { signal });
      await within(subject, "the daemon is not listed", async (limit) => {
        const isListed = async () =>
          (await environment.listProcesses(limit)).some(({ command }) => command.includes("61234"));
        while (!(await isListed())) await systemClock.sleep(50, limit);
      });
      const pids = (await environment.listProcesses(signal)).map(({ pid }) => pid);
      assert.ok(pids.every((pid) => Number.isInteger(pid) && pid > 0));
    },
  },
  {
    title: "a file comes at once where something runs that may wait for it",
    needs: ["shell"],
    async run(subject) {
      const { signal, scratch } = subject;
      const environment = await subject.createEnvironment({ place: [{ kind: "directory", target: scratch }] });
      const env = { COME: `${scratch}/come`, SEEN: `${scratch}/seen` };
      const wait = 'until [ -e "$COME" ]; do sleep 0.05; done; echo seen > "$SEEN"';
      await runScript(environment, `setsid bash -c '${wait}' ${quiet} &`, { env, signal });
      assert.notDeepEqual(await environment.listProcesses(signal), []);
      await environment.copyTo([{ kind: "file", content: "", target: env.COME, mode: 0o644 }], signal);
      await within(subject, "what waits for the file does not see it", async (limit) => {
        while ((await environment.listProcesses(limit)).length > 0) await systemClock.sleep(50, limit);
      });
      assert.equal((await runScript(environment, 'cat "$SEEN"', { env, signal })).stdout.toString(), "seen\n");
    },
  },
  {
    title: "a new environment lists no processes",
    needs: [],
    async run({ createEnvironment, signal }) {
      assert.deepEqual(await (await createEnvironment()).listProcesses(signal), []);
    },
  },
  {
    title: "killing the processes ends every daemon and keeps the environment usable",
    needs: ["shell"],
    async run(subject) {
      const { signal } = subject;
      const beating = await prepare(subject);
      const { environment, env } = beating;
      const script = `${Object.values(daemons).join("\n")}\n${waitForBeat}`;
      await runScript(environment, script, { env, signal });
      await environment.killProcesses(signal);
      assert.deepEqual(await environment.listProcesses(signal), []);
      await assertStill(subject, beating);
    },
  },
  {
    title: "killing the processes settles a command that runs",
    needs: ["shell"],
    async run(subject) {
      const environment = await subject.createEnvironment();
      const started = Promise.withResolvers<void>();
      const stdout = { write: () => started.resolve() };
      const running = within(subject, "the command goes on", (limit) =>
        runScript(environment, "echo ready; sleep 600", { signal: limit, stdout }),
      );
      running.catch(() => {});
      await Promise.race([started.promise, running]);
      await environment.killProcesses(subject.signal);
      assert.notEqual((await running).exitCode, 0);
    },
  },
  {
    title: "a frozen environment writes no more and can still be read and destroyed",
    needs: ["shell", "freeze"],
    async run(subject) {
      const { environment, file, env } = await prepare(subject);
      const { signal } = subject;
      await runScript(environment, `setsid bash -c "$LOOP" ${quiet} & ${waitForBeat}`, { env, signal });
      await environment.freeze(signal);
      const first = await summarizeTree((await readBack(subject, environment, file)).path, signal);
      await systemClock.sleep(400, signal);
      const second = await summarizeTree((await readBack(subject, environment, file)).path, signal);
      assert.deepEqual(second, first);
      await environment.destroy(signal);
    },
  },
  {
    title: "tools are as the image has them until a process changes one, where that can be told",
    needs: ["shell"],
    async run(subject) {
      const environment = await subject.createEnvironment();
      if (environment.changedTools === undefined) return;
      await runScript(
        environment,
        "mkdir -p /usr/local/bin; echo : > /usr/local/bin/anything; cd /etc; echo x > anything",
        { signal: subject.signal },
      );
      assert.deepEqual(await environment.changedTools(subject.signal), []);
      await runScript(environment, "echo > /etc/ld.so.preload", { signal: subject.signal });
      assert.deepEqual(await environment.changedTools(subject.signal), ["/etc/ld.so.preload"]);
    },
  },
];
