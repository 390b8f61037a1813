import assert from "node:assert/strict";
import { join } from "node:path";
import { RolloutError } from "../../base/rollout-error.ts";
import type { Environment } from "../environment.ts";
import type { ConformanceCase } from "./conformance-case.ts";
import { readBack } from "./read-back.ts";
import { runCommand, runScript, within } from "./run-command.ts";
import { runEntrance } from "./run-entrance.ts";

function isLost(error: unknown): boolean {
  return error instanceof RolloutError && error.code === "environment_lost";
}

/** How an environment begins and ends. */
export const lifeCases: readonly ConformanceCase[] = [
  {
    title: "the working directory is an absolute path that exists",
    needs: [],
    async run(subject) {
      const environment = await subject.createEnvironment();
      assert.match(environment.workdir, /^\//);
      await readBack(subject, environment, environment.workdir);
    },
  },
  {
    title: "every environment has an id of its own",
    needs: [],
    async run({ createEnvironment }) {
      const environments: Environment[] = [
        await createEnvironment(),
        await createEnvironment(),
        await createEnvironment(),
      ];
      const ids = new Set(environments.map((environment) => environment.id));
      assert.equal(ids.size, 3);
      assert.ok(!ids.has(""));
    },
  },
  {
    title: "two environments do not see each other's files",
    needs: [],
    async run(subject) {
      const [first, second] = [await subject.createEnvironment(), await subject.createEnvironment()];
      const target = `${subject.scratch}/mine`;
      await first.copyTo([{ kind: "file", content: "mine", target, mode: 0o644 }], subject.signal);
      const isNotFound = (error: unknown): boolean => error instanceof RolloutError && error.code === "not_found";
      await assert.rejects(readBack(subject, second, target), isNotFound);
    },
  },
  {
    title: "what is placed at the creation is there when the environment is handed over",
    needs: [],
    async run(subject) {
      const { scratch } = subject;
      const environment = await subject.createEnvironment({
        place: [
          { kind: "file", content: "1", target: `${scratch}/a/file`, mode: 0o644 },
          { kind: "directory", target: `${scratch}/b` },
          { kind: "link", target: `${scratch}/c`, to: "a/file" },
        ],
      });
      assert.deepEqual((await readBack(subject, environment, scratch)).report, { files: 1, bytes: 1, refused: [] });
    },
  },
  {
    title: "a creation whose signal is already aborted starts nothing",
    needs: [],
    async run({ provider, createEnvironment, signal }) {
      const reason = new RolloutError("environment_start_failed", "aborted before the start");
      const labels = { "rollout-conformance": "aborted" };
      await assert.rejects(
        createEnvironment({ labels, signal: AbortSignal.abort(reason) }),
        (error) => error === reason,
      );
      assert.deepEqual(await provider.findEnvironments(labels, signal), []);
    },
  },
  {
    title: "a creation that cannot place its files rejects and leaves nothing behind",
    needs: [],
    async run({ provider, createEnvironment, hostDir, scratch, signal }) {
      const labels = { "rollout-conformance": "unplaceable" };
      const place = [{ kind: "tree", source: join(hostDir, "missing"), target: scratch }] as const;
      const isStartFailure = (error: unknown): boolean =>
        error instanceof RolloutError && error.code === "environment_start_failed";
      await assert.rejects(createEnvironment({ labels, place }), isStartFailure);
      assert.deepEqual(await provider.findEnvironments(labels, signal), []);
    },
  },
  {
    title: "an aborted signal rejects a command with its reason",
    needs: [],
    async run({ createEnvironment }) {
      const environment = await createEnvironment();
      const reason = new RolloutError("exec_failed", "aborted before the start");
      const running = runCommand(environment, ["true"], { signal: AbortSignal.abort(reason) });
      await assert.rejects(running, (error) => error === reason);
    },
  },
  {
    title: "a stopped environment runs no more commands",
    needs: ["stop"],
    async run({ createEnvironment, signal }) {
      const environment = await createEnvironment();
      await environment.stop(signal);
      await assert.rejects(runCommand(environment, ["true"], { signal }), RolloutError);
    },
  },
  {
    title: "a stopped environment is still found and can be destroyed",
    needs: ["stop"],
    async run({ provider, createEnvironment, signal }) {
      const labels = { "rollout-conformance": "stopped" };
      const environment = await createEnvironment({ labels });
      await environment.stop(signal);
      assert.deepEqual(
        (await provider.findEnvironments(labels, signal)).map(({ id, isKept }) => ({ id, isKept })),
        [{ id: environment.id, isKept: true }],
      );
      await environment.destroy(signal);
      assert.equal((await provider.findEnvironments(labels, signal)).length, 0);
    },
  },
  {
    title: "a running environment is found and is not one that was kept",
    needs: [],
    async run({ provider, createEnvironment, signal }) {
      const labels = { "rollout-conformance": "running" };
      const environment = await createEnvironment({ labels });
      const found = await provider.findEnvironments(labels, signal);
      assert.deepEqual(
        found.map(({ id, isKept }) => ({ id, isKept })),
        [{ id: environment.id, isKept: false }],
      );
    },
  },
  {
    title: "a stopped environment can be entered, again and again, with the files it had",
    needs: ["stop", "shell"],
    async run(subject) {
      const { provider, scratch, signal } = subject;
      const place = [{ kind: "file", content: "old\n", target: `${scratch}/old`, mode: 0o644 }] as const;
      const environment = await subject.createEnvironment({ place });
      await environment.stop(signal);
      const script = `cat ${scratch}/*; pwd; echo new > ${scratch}/zz; exit 7\n`;
      const first = await runEntrance(subject, environment.id, script);
      assert.deepEqual(first, { exitCode: 7, stdout: `old\n${environment.workdir}\n` });
      const second = await runEntrance(subject, environment.id, script);
      assert.deepEqual(second, { exitCode: 7, stdout: `old\nnew\n${environment.workdir}\n` });
      await environment.destroy(signal);
      const isNotFound = (error: unknown): boolean => error instanceof RolloutError && error.code === "not_found";
      await assert.rejects(provider.enter({ id: environment.id, isTerminal: false, signal }), isNotFound);
    },
  },
  {
    title: "a destroyed environment rejects commands as lost",
    needs: [],
    async run({ createEnvironment, signal }) {
      const environment = await createEnvironment();
      await environment.destroy(signal);
      await assert.rejects(runCommand(environment, ["true"], { signal }), isLost);
    },
  },
  {
    title: "a destroyed environment rejects copies",
    needs: [],
    async run(subject) {
      const environment = await subject.createEnvironment();
      await environment.destroy(subject.signal);
      const directory = { kind: "directory", target: subject.scratch } as const;
      await assert.rejects(environment.copyTo([directory], subject.signal), RolloutError);
      await assert.rejects(readBack(subject, environment, environment.workdir), RolloutError);
    },
  },
  {
    title: "an environment can be destroyed twice, also at the same time",
    needs: [],
    async run({ createEnvironment, signal }) {
      const environment = await createEnvironment();
      await Promise.all([environment.destroy(signal), environment.destroy(signal)]);
      await environment.destroy(signal);
    },
  },
  {
    title: "destroying an environment settles the commands that run in it",
    needs: ["shell"],
    async run(subject) {
      const environment = await subject.createEnvironment();
      const started = Promise.withResolvers<void>();
      const stdout = { write: () => started.resolve() };
      const running = within(subject, "the command never settles", (limit) =>
        runScript(environment, "echo ready; sleep 600", { signal: limit, stdout }),
      );
      running.catch(() => {});
      await Promise.race([started.promise, running]);
      await environment.destroy(subject.signal);
      const outcome = await running.then(
        ({ exitCode }) => exitCode !== 0,
        (error: unknown) => isLost(error),
      );
      assert.ok(outcome, "it ended as if nothing had happened, or with another error");
    },
  },
  {
    title: "a frozen environment can be read and destroyed",
    needs: ["freeze"],
    async run(subject) {
      const file = { kind: "file", content: "1\n", target: `${subject.scratch}/file`, mode: 0o644 } as const;
      const environment = await subject.createEnvironment({ place: [file] });
      await environment.freeze(subject.signal);
      assert.equal((await readBack(subject, environment, file.target)).report.bytes, 2);
      await environment.destroy(subject.signal);
    },
  },
  {
    title: "the cost is a number of dollars or unknown",
    needs: [],
    async run({ createEnvironment, signal }) {
      const environment = await createEnvironment();
      const isCost = (cost: number | null): boolean => cost === null || (Number.isFinite(cost) && cost >= 0);
      assert.ok(isCost(environment.cost()));
      await environment.destroy(signal);
      assert.ok(isCost(environment.cost()));
    },
  },
  {
    title: "the command that enters an environment is a text or absent",
    needs: [],
    async run({ createEnvironment }) {
      const command = (await createEnvironment()).enterCommand();
      assert.ok(command === null || command.trim() !== "");
    },
  },
  {
    title: "the facts of an environment are plain JSON and name its provider",
    needs: [],
    async run({ provider, createEnvironment }) {
      const { facts } = await createEnvironment();
      assert.deepEqual(JSON.parse(JSON.stringify(facts)), facts);
      assert.equal(facts["provider"], provider.name);
    },
  },
];
