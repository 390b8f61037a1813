import { readFileSync } from "node:fs";
import { stat } from "node:fs/promises";
import { expect, test } from "vitest";
import type { JobResultFile } from "../../src/jobs/output/job-result-schema.ts";
import { onTerminal } from "../e2e/rollout-cli.ts";
import { openLocalRig, rewarding, type LocalRoom } from "../e2e/local-rig.ts";

const rig = await openLocalRig();

// Everything that could drive a terminal, end a text or be no text at all.
const poison = String.raw`printf '\033[2J\033]0;owned\007\033[6n\033P1$r\033\\\233\061m\r\b\b\000\377\376\300\200\355\240\200'; printf '\342\200\256\342\200\213\n'`;
const flood = (bytes: string): string => `head -c ${bytes} /dev/zero | tr '\\0' x`;
// eslint-disable-next-line no-control-regex -- these are what must not be there
const controls = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202e\u200b]/;

const tasks = (bytes: string): Parameters<typeof rig.makeRoom>[0] => ({
  "a-passes": {
    instruction: `[ $1 = install ] && exit; ${poison}; ${flood(bytes)}; ${poison}; ${poison} >&2`,
    test: `${poison}; ${flood(bytes)}; ${poison}; ${rewarding(1)}`,
  },
  "b-fails": { instruction: `[ $1 = install ] && exit; ${poison}; ${flood(bytes)}; ${poison} >&2; exit 3` },
  "c-fails-in-its-tests": { test: `${poison} >&2; ${flood(bytes)} >&2; ${poison} >&2; exit 3` },
  "d-is-no-reward": { test: `{ ${poison}; ${poison}; } > /logs/verifier/reward.txt` },
  "e-is-built": { dockerfile: `FROM debian\nRUN ${poison}; ${flood(bytes)}; ${poison}\n` },
  "f-is-not-built": { dockerfile: `FROM debian\nRUN ${poison}; ${flood(bytes)}; ${poison} >&2; exit 3\n` },
});

async function expectTame(room: LocalRoom, bytes: string, printed: readonly string[]): Promise<void> {
  for (const text of printed) {
    expect(text.length, bytes).toBeLessThan(200_000);
    // Lines of CSV end with both.
    expect(text.replaceAll("\r\n", "\n")).not.toMatch(controls);
  }
  const result = await room.readJson<JobResultFile>("jobs/job/result.json");
  expect(result).toMatchObject({ total_trials: 6, completed_trials: 2, failed_trials: 4 });
  for (const { task_name } of result.results) await room.trial(`agent/tasks/${task_name}__1`);
  for (const file of (await room.files("jobs/job")).filter((name) => name.endsWith(".jsonl")))
    for (const line of (await room.read(`jobs/job/${file}`)).trimEnd().split("\n")) JSON.parse(line);
  expect(await room.run(["verify", "jobs/job"])).toMatchObject({ code: 0 });
}

test("a line without an end, control characters and what is no text harm neither the job nor who looks at it", async () => {
  const bytes = "80M";
  const room = await rig.makeRoom(tasks(bytes), { n_concurrent_trials: 2, output_limit: "8Mi" });
  const running = room.start(["job.yaml", "--json=events"]);
  let peakKilobytes = 0;
  running.child.stdout?.on("data", () => {
    const peak = /VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${running.pid}/status`, "utf8"))?.[1];
    peakKilobytes = Math.max(peakKilobytes, Number(peak ?? 0));
  });
  const { code, stdout, stderr } = await running.ended;
  expect(code, stderr).toBe(3);
  expect(peakKilobytes).toBeLessThan(400_000);
  for (const line of stdout.trimEnd().split("\n")) JSON.parse(line);
  const looks = [
    ["show", "jobs/job"],
    ["status", "jobs/job"],
    ["show", "jobs/job", "--json"],
    ["show", "jobs/job", "--tasks"],
    ["show", "jobs/job", "--failed"],
    ["list"],
    ["export", "jobs/job", "--csv", "-"],
    ["export", "jobs/job", "--jsonl", "-"],
    ["logs", "jobs/job", "agent/tasks/a-passes__1"],
  ];
  for (const name of Object.keys(tasks(bytes))) looks.push(["show", `jobs/job/agent/tasks/${name}__1`]);
  const said = [];
  for (const words of looks) said.push(await room.run(words));
  await expectTame(room, bytes, [stderr, ...said.flatMap((one) => [one.stdout, one.stderr])]);
  const { size } = await stat(room.path("jobs/job/agent/tasks/a-passes__1/command/stdout.txt"));
  expect(size).toBeLessThan((8 << 20) + 1000);
  expect((await room.trial("agent/tasks/a-passes__1")).warnings).toContainEqual(
    expect.stringMatching(/^command\/stdout\.txt had \d+ bytes; \d+ in the middle were cut/),
  );
});

test("nor do they drive a terminal while the job runs", async (context) => {
  const room = await rig.makeRoom(tasks("1M"));
  const options = onTerminal(context, ["job.yaml"]);
  const { stdout } = await room.run([], options);
  for (const code of ["\u001b[2J", "\u001b]0;owned", "\u001b[6n", "\u001bP", "\u009b", "\u202e", "\u0000"])
    expect(stdout).not.toContain(code);
  expect(stdout).toContain("a-passes");
});
