import assert from "node:assert/strict";
import { RolloutError } from "../../base/rollout-error.ts";
import type { Enforcement, TaskEnvironment } from "../environment.ts";
import type { ConformanceCase } from "./conformance-case.ts";
import { collect } from "./run-command.ts";

const limits = { cpus: 1, memoryBytes: 512 * 2 ** 20, storageBytes: 2 ** 30 };

function buildTask(contextDir: string): TaskEnvironment {
  return { taskName: "conformance-build", contextDir, dockerImage: null, forceBuild: false, limits };
}

/** What a provider does beside its environments. */
export const providerCases: readonly ConformanceCase[] = [
  {
    title: "every limit is declared as enforced, advisory or absent",
    needs: [],
    async run({ provider }) {
      const known: readonly Enforcement[] = ["enforced", "advisory", "none"];
      const { cpus, memory, storage } = provider.capabilities.limits;
      assert.ok([cpus, memory, storage].every((limit) => known.includes(limit)));
    },
  },
  {
    title: "an engine that works passes the probe",
    needs: [],
    async run({ provider, signal }) {
      await provider.probe(signal);
    },
  },
  {
    title: "a probe whose signal is already aborted rejects with its reason",
    needs: [],
    async run({ provider }) {
      const reason = new RolloutError("provider_unavailable", "aborted before the start");
      await assert.rejects(provider.probe(AbortSignal.abort(reason)), (error) => error === reason);
    },
  },
  {
    title: "a task that cannot run has problems and no image",
    needs: [],
    async run({ provider, impossibleTask, signal }) {
      const check = await provider.checkTask(impossibleTask, signal);
      assert.ok(check.problems.length > 0);
      assert.ok(check.problems.every((problem) => problem !== ""));
      assert.equal(check.image, null);
    },
  },
  {
    title: "a Dockerfile is built, or the check says that it is not",
    needs: [],
    async run({ provider, baseImage, createEnvironment, taskDir, signal }) {
      const contextDir = await taskDir({ Dockerfile: `FROM ${baseImage}\nWORKDIR /rollout/built\n` });
      const check = await provider.checkTask(buildTask(contextDir), signal);
      const plan = check.image;
      if (plan?.kind !== "build") return assert.ok(check.problems.length + check.warnings.length > 0);
      const output = collect();
      const image = await provider.buildImage({ plan, output, labels: {}, signal });
      assert.notEqual(output.text(), "");
      assert.equal((await createEnvironment({ image })).workdir, "/rollout/built");
    },
  },
  {
    title: "equal tasks share an image and different ones do not",
    needs: [],
    async run({ provider, baseImage, taskDir, signal }) {
      const keyOf = async (workdir: string): Promise<string | undefined> => {
        const contextDir = await taskDir({ Dockerfile: `FROM ${baseImage}\nWORKDIR ${workdir}\n` });
        const { image } = await provider.checkTask(buildTask(contextDir), signal);
        return image?.kind === "build" ? image.key : undefined;
      };
      const key = await keyOf("/same");
      assert.equal(await keyOf("/same"), key);
      if (key !== undefined) assert.notEqual(await keyOf("/other"), key);
    },
  },
  {
    title: "environments are found by all of their labels and by no other value",
    needs: [],
    async run({ provider, createEnvironment, signal }) {
      const { id } = await createEnvironment({ labels: { "rollout-job": "find-1", "rollout-trial": "a" } });
      await createEnvironment({ labels: { "rollout-job": "find-1", "rollout-trial": "b" } });
      const find = (labels: Record<string, string>) => provider.findEnvironments(labels, signal);
      assert.equal((await find({ "rollout-job": "find-1" })).length, 2);
      const found = await find({ "rollout-job": "find-1", "rollout-trial": "a" });
      assert.deepEqual(
        found.map((environment) => environment.id),
        [id],
      );
      assert.equal(found[0]?.labels["rollout-trial"], "a");
      assert.deepEqual(await find({ "rollout-job": "find-2" }), []);
      assert.deepEqual(await find({ "rollout-job": "find-1", "rollout-trial": "c" }), []);
    },
  },
  {
    title: "a found environment can be removed, also when it is already gone",
    needs: [],
    async run({ provider, createEnvironment, signal }) {
      const labels = { "rollout-job": "remove" };
      const environment = await createEnvironment({ labels });
      const [found] = await provider.findEnvironments(labels, signal);
      assert.ok(found);
      await provider.removeEnvironment(found.id, signal);
      assert.deepEqual(await provider.findEnvironments(labels, signal), []);
      await provider.removeEnvironment(found.id, signal);
      await environment.destroy(signal);
    },
  },
  {
    title: "a destroyed environment is not found any more",
    needs: [],
    async run({ provider, createEnvironment, signal }) {
      const labels = { "rollout-job": "destroyed" };
      const environment = await createEnvironment({ labels });
      await environment.destroy(signal);
      assert.deepEqual(await provider.findEnvironments(labels, signal), []);
    },
  },
];
