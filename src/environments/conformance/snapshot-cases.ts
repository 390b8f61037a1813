import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { readFile } from "node:fs/promises";
import type { Environment, SnapshotFile, SnapshotStore } from "../environment.ts";
import type { ConformanceCase, ConformanceSubject } from "./conformance-case.ts";
import { textFile } from "./place-and-read.ts";
import { readBack } from "./read-back.ts";
import { runScript } from "./run-command.ts";

function storeOf({ provider }: ConformanceSubject): SnapshotStore {
  assert.ok(provider.snapshots, "the capability is declared and there is no store");
  return provider.snapshots;
}

type Create = ConformanceSubject["createEnvironment"];

// Engines and folders outlive a provider, so every case has a key of its own and takes it away when nothing uses it any more.
async function withKey(
  subject: ConformanceSubject,
  work: (key: string, create: Create) => Promise<void>,
): Promise<void> {
  const key = randomUUID().replaceAll("-", "");
  const made: Environment[] = [];
  const create: Create = async (overrides) => {
    const environment = await subject.createEnvironment(overrides);
    made.push(environment);
    return environment;
  };
  const never = new AbortController().signal;
  try {
    await work(key, create);
  } finally {
    for (const environment of made) await environment.destroy(never);
    await storeOf(subject).remove(key, never);
  }
}

async function save(
  subject: ConformanceSubject,
  environment: Environment,
  key: string,
  examine: (file: SnapshotFile) => Promise<boolean> = async () => true,
): Promise<string | null> {
  const saved = environment.snapshot?.({ key, examine, signal: subject.signal });
  assert.ok(saved, "the capability is declared and there is no way to save");
  return saved;
}

async function readText(subject: ConformanceSubject, environment: Environment, path: string): Promise<string> {
  return readFile((await readBack(subject, environment, path)).path, "utf8");
}

async function drain(body: SnapshotFile["body"]): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of body) chunks.push(chunk);
  return Buffer.concat(chunks).toString("utf8");
}

/** What a provider with the capability `snapshots` promises beside all else. */
export const snapshotCases: readonly ConformanceCase[] = [
  {
    title: "an environment starts from a snapshot with its files, and both go on apart",
    needs: ["snapshots"],
    run: (subject) =>
      withKey(subject, async (key, create) => {
        const { scratch, signal } = subject;
        const store = storeOf(subject);
        const first = await create({ place: [textFile(`${scratch}/kept/program`, "one", 0o755)] });
        assert.equal(await store.find(key, signal), null);
        const image = await save(subject, first, key);
        assert.ok(image !== null);
        assert.equal(await store.find(key, signal), image);
        await first.copyTo([textFile(`${scratch}/kept/program`, "later")], signal);
        const second = await create({ image, place: [textFile(`${scratch}/new`, "two")] });
        assert.equal(await readText(subject, second, `${scratch}/kept/program`), "one");
        assert.equal(await readText(subject, second, `${scratch}/new`), "two");
        assert.equal(await readText(subject, first, `${scratch}/kept/program`), "later");
        assert.equal(second.workdir, first.workdir);
        await second.copyTo([textFile(`${scratch}/kept/program`, "second")], signal);
        const third = await create({ image });
        assert.equal(await readText(subject, third, `${scratch}/kept/program`), "one");
        await assert.rejects(readText(subject, third, `${scratch}/new`));
      }),
  },
  {
    title: "what /logs, /tests and /oracle hold is in no snapshot",
    needs: ["snapshots"],
    run: (subject) =>
      withKey(subject, async (key, create) => {
        const places = ["/logs/agent/left", "/logs/left", "/tests/left", "/oracle/left"];
        const first = await create({ place: [{ kind: "directory", target: "/logs/agent" }] });
        await first.copyTo(
          places.map((path) => textFile(path, "mine")),
          subject.signal,
        );
        const image = await save(subject, first, key);
        assert.ok(image !== null);
        assert.equal(await readText(subject, first, "/logs/left"), "mine");
        const second = await create({ image, place: [{ kind: "directory", target: "/logs/agent" }] });
        for (const path of places) await assert.rejects(readText(subject, second, path), `${path} is there`);
      }),
  },
  {
    title: "all that a snapshot would hold is shown before, and a no keeps nothing",
    needs: ["snapshots"],
    run: (subject) =>
      withKey(subject, async (key, create) => {
        const { scratch, signal } = subject;
        const first = await create({
          place: [
            textFile(`${scratch}/deep/secret`, "x".repeat(200_000) + "value", 0o600),
            { kind: "link", target: `${scratch}/link`, to: "where-to" },
          ],
        });
        const seen = new Map<string, string>();
        const refused = await save(subject, first, key, async ({ path, body }) => {
          const text = await drain(body);
          seen.set(path, text);
          return !text.endsWith("value");
        });
        assert.equal(refused, null);
        assert.ok(seen.get(`${scratch}/deep/secret`)?.endsWith("value"), `seen: ${[...seen.keys()].join(" ")}`);
        assert.equal(await storeOf(subject).find(key, signal), null);
        seen.clear();
        await save(subject, first, key, async ({ path, body }) => {
          seen.set(path, await drain(body));
          return true;
        });
        assert.equal(seen.get(`${scratch}/link`), "where-to");
      }),
  },
  {
    title: "of two that save under one key at once, both get what starts",
    needs: ["snapshots"],
    run: (subject) =>
      withKey(subject, async (key, create) => {
        const { scratch } = subject;
        const place = [textFile(`${scratch}/program`, "one")];
        const both = [await create({ place }), await create({ place })];
        const images = await Promise.all(both.map((environment) => save(subject, environment, key)));
        for (const image of images) {
          assert.ok(image !== null);
          const started = await create({ image });
          assert.equal(await readText(subject, started, `${scratch}/program`), "one");
        }
      }),
  },
  {
    title: "snapshots are listed with whether one is used, and removed, also when they are already gone",
    needs: ["snapshots"],
    run: (subject) =>
      withKey(subject, async (key, create) => {
        const { signal } = subject;
        const store = storeOf(subject);
        const first = await create();
        const image = await save(subject, first, key);
        assert.ok(image !== null);
        const isUsed = async (): Promise<boolean | undefined> =>
          (await store.list(signal)).find((found) => found.key === key)?.isUsed;
        assert.equal(await isUsed(), false);
        const second = await create({ image });
        assert.equal(await isUsed(), true);
        await assert.rejects(store.remove(key, signal), { code: "in_use" });
        await second.destroy(signal);
        assert.equal(await isUsed(), false);
        await store.remove(key, signal);
        assert.equal(await isUsed(), undefined);
        assert.equal(await store.find(key, signal), null);
        await store.remove(key, signal);
        await first.copyTo([textFile(`${subject.scratch}/after`, "still there")], signal);
      }),
  },
  {
    title: "the same image has one identity and another image another",
    needs: ["snapshots"],
    async run(subject) {
      const { provider, baseImage, taskDir, signal } = subject;
      const identify = async (workdir: string): Promise<string | null> => {
        const contextDir = await taskDir({ Dockerfile: `FROM ${baseImage}\nWORKDIR ${workdir}\n` });
        const limits = { cpus: 1, memoryBytes: 512 * 2 ** 20, storageBytes: 2 ** 30 };
        const task = { taskName: "identity", contextDir, dockerImage: null, forceBuild: false, limits };
        const { image: plan } = await provider.checkTask(task, signal);
        if (plan?.kind !== "build") return null;
        const image = await provider.buildImage({ plan, output: { write: () => {} }, labels: {}, signal });
        return storeOf(subject).identify(image, signal);
      };
      const one = await identify("/rollout/one");
      assert.equal(await identify("/rollout/one"), one);
      if (one !== null) assert.notEqual(await identify("/rollout/other"), one);
    },
  },
  {
    title: "owners, modes, removals and programs survive in a snapshot",
    needs: ["snapshots", "shell"],
    run: (subject) =>
      withKey(subject, async (key, create) => {
        const { scratch, signal } = subject;
        const first = await create({ place: [textFile(`${scratch}/old/file`, "old")] });
        const script = `set -e; cd ${scratch}; rm -r old; mkdir old; echo new >old/other; chmod 4711 old/other
ln old/other twin; mkdir -p /usr/local/bin; echo '#!/bin/sh
echo ran' >/usr/local/bin/rollout-installed; chmod 755 /usr/local/bin/rollout-installed
echo t >/tmp/in-tmp; ls -ln old | tail -n 1 >listing`;
        assert.equal((await runScript(first, script, { signal })).exitCode, 0);
        const image = await save(subject, first, key);
        assert.ok(image !== null);
        const second = await create({ image });
        const look = `cd ${scratch}; ls old; ls -ln old | tail -n 1 | diff - listing; /usr/local/bin/rollout-installed; cat twin /tmp/in-tmp`;
        const { stdout } = await runScript(second, look, { signal });
        assert.equal(stdout.toString("utf8"), "other\nran\nnew\nt\n");
      }),
  },
];
