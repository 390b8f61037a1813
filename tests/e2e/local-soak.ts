import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, type TestContext } from "vitest";
import type { JobResultFile } from "../../src/jobs/output/job-result-schema.ts";
import type { TrialResultFile } from "../../src/jobs/output/trial-result-schema.ts";
import { eventually, rewarding, type LocalRig, type LocalRoom } from "./local-rig.ts";
import type { Running, TaskOptions } from "./rollout-cli.ts";
import { seededRandom } from "../../src/base/seeded-random.ts";
import { mountSmallDisk } from "./small-disk.ts";
import { apartTask, drawFate, endOfFate, hastyTask, soakRetries } from "./soak-faults.ts";
import type { SoakSample } from "./soak-provider.ts";

const taskCount = 20;
const hang = "sleep 4718";
const patienceMs = 3_000_000;

const install = `case $SOAK_FAULT in install-exits) exit 4;; install-hangs) ${hang};; esac`;
const execute = `case $SOAK_FAULT in
  killed) echo ready; ${hang};;
  agent-exits) exit 3;;
  agent-kills-all) bash -c 'kill -9 -1'; exit 0;;
  agent-fills-disk) head -c 16M /dev/zero > /app/fill || exit 9;;
  agent-floods) head -c 300000 /dev/zero | tr '\\0' x;;
  agent-leaves-daemon) (setsid bash -c "trap '' TERM HUP INT; ${hang}" >/dev/null 2>&1 &);;
  agent-hangs) ${hang};;
esac
echo "$SOAK_FAULT" > /logs/agent/fault`;
const test = `case $SOAK_FAULT in
  killed) echo ready; ${hang};;
  test-exits) exit 1;;
  no-reward) exit 0;;
  bad-reward) echo one > /logs/verifier/reward.txt; exit 0;;
  test-hangs) ${hang};;
esac
${rewarding(1)}`;

const storage = '[environment]\nstorage = "8Mi"\n';
const tasks: Readonly<Record<string, TaskOptions>> = {
  [apartTask]: { toml: `${storage}[verifier]\nenvironment = "separate"\n`, test },
  [hastyTask]: {
    toml: `[agent]\ninstall_timeout_sec = 3\ntimeout_sec = 3\n[verifier]\ntimeout_sec = 3\n${storage}build_timeout_sec = 3\n`,
    test,
  },
  built: { toml: storage, dockerfile: "FROM debian\nRUN touch /built\n", test },
  ...Object.fromEntries(
    Array.from({ length: taskCount - 3 }, (_, index) => [`plain-${index}`, { toml: storage, test }]),
  ),
};

function jobOf(trials: number, seed: number): Record<string, unknown> {
  const type = fileURLToPath(new URL("./soak-provider.ts", import.meta.url));
  return {
    environment: { type, provider_config: { seed, samples: "samples.json" } },
    agents: [{ name: "agent", install, execute }],
    n_attempts: trials / taskCount,
    n_concurrent_trials: 4,
    output_limit: "64Ki",
    retry: { max_attempts: soakRetries, initial_delay_ms: 1 },
  };
}

/** Runs so many trials on this machine while things go wrong: each must end as it should, and nothing may be left or grow. */
export async function soakLocal(rig: LocalRig, trials: number, seed: number): Promise<void> {
  const room = await rig.makeRoom(tasks, jobOf(trials, seed));
  mkdirSync(room.path("tmp"));
  const ended = await room.start(["job.yaml", "-q"], { patienceMs, env: { TMPDIR: room.path("tmp") } }).ended;
  expect(ended.code, ended.stderr).toBe(3);
  await expectResults(room, trials, seed, false);
  await expectNothingLeft(rig, room);
  expectNoGrowth(await room.readJson<SoakSample[]>("samples.json"), trials);
}

export interface FillOptions {
  readonly context: TestContext;
  readonly rig: LocalRig;
  readonly trials: number;
  /** How often the disk of the results is filled before the job may come to its end. */
  readonly fills: number;
  readonly seed: number;
}

const roomyBytes = 512 << 20;

/** Fills the disk under a job of a soak at random moments and resumes it: all must be as if there had been room. */
export async function soakFullDisk({ context, rig, trials, fills, seed }: FillOptions): Promise<void> {
  const room = await rig.makeRoom(tasks, jobOf(trials, seed));
  const disk = mountSmallDisk(context, room, roomyBytes);
  mkdirSync(room.path("tmp"));
  const random = seededRandom(seed);
  const journal = room.path("jobs/job/.rollout/journal.jsonl");
  const count = (): number =>
    existsSync(journal) ? readFileSync(journal, "utf8").split('"type":"trial_finished"').length - 1 : 0;
  const start = (): Running =>
    room.start(["job.yaml", "-q", "--resume"], { patienceMs, env: { TMPDIR: room.path("tmp") } });
  for (let fill = 0; fill < fills; fill++) {
    const running = start();
    const wanted = count() + 1 + Math.floor((random() * trials) / fills / 2);
    await running.until("some trials have finished", () => count() >= wanted);
    disk.squeeze(Math.floor(random() * 100_000));
    const { code, stderr } = await running.ended;
    disk.resize(roomyBytes);
    expect({ code, stderr }, `fill ${fill}`).toMatchObject({
      code: 70,
      stderr: expect.stringContaining("disk is full"),
    });
  }
  const { code, stderr } = await start().ended;
  expect(code, stderr).toBe(3);
  await expectResults(room, trials, seed, true);
  await expectNothingLeft(rig, room);
}

async function expectResults(room: LocalRoom, trials: number, seed: number, isCut: boolean): Promise<void> {
  const result = await room.readJson<JobResultFile>("jobs/job/result.json");
  const { total_trials, completed_trials, failed_trials, skipped_trials } = result;
  expect({ total_trials, skipped_trials, ended: completed_trials + failed_trials }).toEqual({
    total_trials: trials,
    skipped_trials: 0,
    ended: trials,
  });
  const wrong: unknown[] = [];
  let completed = 0;
  for (const { agent_name, dataset_name, task_name, attempt } of result.results) {
    const key = `${agent_name}/${dataset_name}/${task_name}__${attempt}`;
    const trial = await room.readJson<TrialResultFile>(`jobs/job/${key}/result.json`);
    const fate = drawFate(seed, key);
    const { error, cause, isMarked, tries } = endOfFate(fate);
    if (isMarked) completed++;
    const expected = { error, cause, reward: isMarked ? 1 : null, tries };
    const found = {
      error: trial.error?.type ?? null,
      cause: trial.error?.cause ?? null,
      reward: trial.reward,
      // What was cut by a full disk was tried once more for it.
      tries: isCut ? Math.min(tries, trial.tries) : trial.tries,
    };
    // A disk that was full just then keeps the result of before the teardown.
    if (isCut && error === "environment_teardown_failed" && trial.error === null && trial.reward === 1) continue;
    if (JSON.stringify(found) !== JSON.stringify(expected)) wrong.push({ key, ...fate, found, error: trial.error });
  }
  expect(wrong).toEqual([]);
  expect(completed_trials).toBe(completed);
  const verified = await room.run(["verify", "jobs/job"]);
  expect(verified.code, verified.stdout + verified.stderr).toBe(0);
}

// What the trials of this soak may leave on disk, retries included.
const known =
  /^(?:config\.json|result\.json|\.rollout\/(?:journal|log(?:-\d+)?)\.jsonl|\.rollout\/(?:lock|run)\.json|\.rollout\/tasks\/[0-9a-f]+\.json|\.rollout\/images\/[^/]+\/build(?:-\d+)?\.log|agent\/tasks\/[^/]+__\d+\/(?:retries\/\d+\/)?(?:result\.json|error\.txt|changes\.txt|(?:setup|command|logs\/verifier)\/std(?:out|err)\.txt|logs\/agent\/fault|logs\/verifier\/reward\.txt))$/;

async function expectNothingLeft(rig: LocalRig, room: LocalRoom): Promise<void> {
  await eventually("no process is left", () => rig.processes());
  const { run_id: run } = await room.readJson<{ run_id: string }>("jobs/job/.rollout/lock.json");
  const prefix = `local-rollout-${createHash("sha256").update(run).digest("hex").slice(0, 10)}`;
  expect([...rig.environments(), ...rig.debris(), ...rig.mountsAndGroups([prefix])]).toEqual([]);
  // Node's own, for the next start.
  expect(readdirSync(room.path("tmp")).filter((name) => name !== "node-compile-cache")).toEqual([]);
  expect((await room.files("jobs/job")).filter((file) => !known.test(file))).toEqual([]);
}

// Of a trial the job keeps a few lines for its result; whatever else stayed would be many times as much.
const keptBytesPerTrial = 6 << 10;
const noiseBytes = 4 << 20;
const residentNoiseBytes = 48 << 20;

function expectNoGrowth(samples: readonly SoakSample[], trials: number): void {
  const part = (from: number, to: number): readonly SoakSample[] =>
    samples.slice(Math.floor(samples.length * from), Math.ceil(samples.length * to));
  const [early, late] = [part(0.2, 0.5), part(0.75, 1)];
  const compare = (value: (sample: SoakSample) => number): readonly [number, number] => [
    middleOf(early.map(value)),
    middleOf(late.map(value)),
  ];
  const heap = compare(({ heapBytes }) => heapBytes);
  const resident = compare(({ residentBytes }) => residentBytes);
  const open = compare(({ descriptors }) => descriptors.length);
  const [first, last] = [samples[0], samples.at(-1)];
  const mebibytes = (pair: readonly number[]): string => pair.map((of) => (of / 2 ** 20).toFixed(1)).join(" to ");
  console.log(
    `${trials} trials: heap ${mebibytes(heap)} MiB, resident ${mebibytes(resident)} MiB, descriptors ` +
      `${open.join(" to ")} and ${last?.descriptors.length} at the end, timers ${last?.timers} at the end`,
  );
  expect(heap[1] - heap[0]).toBeLessThan(noiseBytes + keptBytesPerTrial * trials);
  expect(resident[1] - resident[0]).toBeLessThan(residentNoiseBytes + keptBytesPerTrial * trials);
  expect(open[1] - open[0]).toBeLessThan(10);
  const opened = (last?.descriptors ?? []).filter((name) => !first?.descriptors.includes(name));
  expect(last?.descriptors.length, opened.join("\n")).toBeLessThan((first?.descriptors.length ?? 0) + 5);
  expect(last?.timers).toBeLessThan(5);
}

function middleOf(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}
