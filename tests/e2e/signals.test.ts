import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, test, vi } from "vitest";
import type { JobResultFile } from "../../src/jobs/output/job-result-schema.ts";
import type { TrialResultFile } from "../../src/jobs/output/trial-result-schema.ts";
import { TerminalScreen } from "../../src/report/testing/terminal-screen.ts";
import {
  agentOf,
  command,
  makeJobRoom,
  onTerminal,
  type Room,
  root,
  type Running,
  type StartOptions,
} from "./rollout-cli.ts";

const trial = "jobs/job/agent/tasks";

/** A room whose job runs one trial at a time of an agent that leaves a log and then waits for good. */
async function makeWaitingRoom(changes: Readonly<Record<string, unknown>> = {}, ending = "wait"): Promise<Room> {
  const room = await makeJobRoom({}, ["a", "b", "c"]);
  const execute = ["echo begun", "write /logs/agent/notes.txt so far", `tell ${room.path("begun")}`, ending].join("\n");
  await room.writeJob({ ...agentOf(execute), n_concurrent_trials: 1, ...changes });
  return room;
}

async function startAndWait(
  room: Room,
  args: readonly string[] = ["job.yaml"],
  options: StartOptions = {},
): Promise<Running> {
  const running = room.start(args, options);
  await running.until("the agent has begun", () => existsSync(room.path("begun")));
  return running;
}

describe("a job that is interrupted once", () => {
  test("terminates what runs, keeps its logs, lists what it skipped and exits with 130", async () => {
    const room = await makeWaitingRoom();
    const running = await startAndWait(room);
    running.kill("SIGINT");
    const { code, stdout, stderr } = await running.ended;
    expect(code).toBe(130);
    expect(stderr).toContain("SIGINT");
    expect(stdout).toContain("cancelled");

    const result = await room.readJson<JobResultFile>("jobs/job/result.json");
    expect(result).toMatchObject({
      cancelled: true,
      total_trials: 3,
      completed_trials: 0,
      failed_trials: 1,
      skipped_trials: 2,
    });
    expect(result.skipped.map((skipped) => skipped.task_name)).toEqual(["b", "c"]);
    expect(result.results).toEqual([
      {
        task_name: "a",
        dataset_name: "tasks",
        agent_name: "agent",
        attempt: 1,
        reward: null,
        error_type: "trial_cancelled",
        untrusted: false,
      },
    ]);
    const cut = await room.readJson<TrialResultFile>(`${trial}/a__1/result.json`);
    expect(cut.error?.type).toBe("trial_cancelled");
    expect(cut.timestamps.agent_execution_ended_at).not.toBeNull();
    expect(cut.timestamps.verifier_started_at).toBeNull();
    expect(await room.read(`${trial}/a__1/logs/agent/notes.txt`)).toBe("so far\n");
    expect(await room.read(`${trial}/a__1/command/stdout.txt`)).toBe("begun\n");
    expect(existsSync(room.path(trial, "b__1"))).toBe(false);
  });

  test("ends also when a program in the environment ignores its end", async () => {
    const room = await makeWaitingRoom({}, "stay");
    const running = await startAndWait(room);
    running.kill("SIGINT");
    expect(await running.ended).toMatchObject({ code: 130, signal: null });
    expect(await room.readJson("jobs/job/result.json")).toMatchObject({ cancelled: true });
  });

  test("reacts even if it was started with the signal ignored", async () => {
    const room = await makeWaitingRoom();
    const started = ["sh", "-c", 'trap "" INT; exec "$@"', "sh", ...command];
    const running = await startAndWait(room, ["job.yaml"], { command: started });
    running.kill("SIGINT");
    expect(await running.ended).toMatchObject({ code: 130 });
    expect(await room.readJson("jobs/job/result.json")).toMatchObject({ cancelled: true, skipped_trials: 2 });
  });

  test("says so on a terminal where nothing wipes it away, and leaves nothing half drawn", async (context) => {
    const room = await makeWaitingRoom({}, "stay");
    const running = await startAndWait(room, [], onTerminal(context, ["job.yaml"]));
    await running.until("the live block is there", () => running.stdout().includes("0/3"));
    process.kill(Number(await room.read("begun")), "SIGINT");
    const { code, stdout } = await running.ended;
    expect(code).toBe(130);
    const screen = new TerminalScreen(80, 24);
    screen.write(stdout);
    const lines = screen.everything();
    expect(lines[0]).toMatch(/SIGINT: .*once more/);
    expect(lines.join("\n")).not.toContain("0/3");
    expect(lines.join("\n")).toContain("job · cancelled");
  });

  test("gives its one JSON object all the same", async () => {
    const room = await makeWaitingRoom();
    const running = await startAndWait(room, ["job.yaml", "--json"]);
    running.kill("SIGINT");
    const { stdout } = await running.ended;
    expect(JSON.parse(stdout)).toMatchObject({ exit_code: 130, result: { cancelled: true, skipped_trials: 2 } });
  });

  test("skips every trial when it is interrupted between the last check and the first trial", async () => {
    const room = await makeFaultyRoom({ hang: "build", obeys: true });
    const running = room.start(["job.yaml"]);
    await running.until("the job has begun", () => existsSync(room.path("jobs/job/.rollout/journal.jsonl")));
    running.kill("SIGINT");
    expect(await running.ended).toMatchObject({ code: 130 });
    expect(await room.readJson("jobs/job/result.json")).toMatchObject({ cancelled: true, completed_trials: 0 });
  });
});

test.for([
  ["SIGTERM", 143],
  ["SIGHUP", 129],
  ["SIGQUIT", 131],
] as const)("%s ends a job as SIGINT does, with %i", async ([signal, exitCode]) => {
  const room = await makeWaitingRoom();
  const running = await startAndWait(room);
  running.kill(signal);
  const { code, stderr } = await running.ended;
  expect(code).toBe(exitCode);
  expect(stderr).toContain(signal);
  expect(await room.readJson("jobs/job/result.json")).toMatchObject({ cancelled: true, skipped_trials: 2 });
  expect(await room.read(`${trial}/a__1/logs/agent/notes.txt`)).toBe("so far\n");
});

describe("a terminal that closes", () => {
  test("ends a job, which still writes its results", async (context) => {
    const room = await makeWaitingRoom();
    const running = await startAndWait(room, [], onTerminal(context, ["job.yaml"]));
    // The end of `script` closes the terminal: the kernel sends SIGHUP to the job.
    running.kill("SIGKILL");
    await running.ended;
    const isOver = async (): Promise<boolean> =>
      (await room.read("jobs/job/result.json")).includes('"cancelled": true');
    await vi.waitFor(async () => expect(await isOver()).toBe(true), { timeout: 20_000 });
  });

  test.for([
    ["the installed command", [join(root, "dist/bin.js")]],
    ["the command of a checkout", [join(root, "bin/rollout")]],
  ] as const)("does not disturb a job under nohup: %s", async ([, words]) => {
    const room = await makeJobRoom();
    await room.writeJob(agentOf(`tell ${room.path("begun")}\nwait-for ${room.path("go")}`));
    // `env node` is to find the Node of the tests.
    const env = { PATH: `${dirname(process.execPath)}:${process.env["PATH"] ?? ""}` };
    const running = await startAndWait(room, ["job.yaml"], { command: ["nohup", ...words], env });
    running.kill("SIGHUP");
    await room.write("go", "");
    const { code, stderr } = await running.ended;
    expect(code, stderr).toBe(0);
  });
});

async function makeFaultyRoom(config: Readonly<Record<string, unknown>>): Promise<Room> {
  const room = await makeWaitingRoom({ environment: { type: "./provider.ts", provider_config: config } });
  await room.write(
    "provider.ts",
    `export { providerModule } from ${JSON.stringify(`${root}/tests/e2e/faulty-provider.ts`)};\n`,
  );
  return room;
}

describe("a job that is interrupted twice", () => {
  test("stops waiting for an environment that does not go, and names it", async () => {
    const room = await makeFaultyRoom({ hang: "destroy" });
    const running = await startAndWait(room);
    running.kill("SIGINT");
    await running.until("the trial is over but for its environment", () =>
      existsSync(room.path(trial, "a__1/result.json")),
    );
    running.kill("SIGINT");
    const { code, stderr } = await running.ended;
    expect(code).toBe(130);
    expect(stderr).toMatch(/^rollout: environment memory-rollout-\S+ /m);
    expect(await room.readJson("jobs/job/result.json")).toMatchObject({
      cancelled: true,
      failed_trials: 1,
      skipped_trials: 2,
    });
    expect(await room.read(`${trial}/a__1/error.txt`)).toContain("environment_teardown_failed");
  });

  test("stops waiting for logs that do not come", async () => {
    const room = await makeFaultyRoom({ hang: "copyFrom" });
    const running = await startAndWait(room);
    running.kill("SIGINT");
    await running.until("it is stopping", () => running.stderr().includes("stopping"));
    running.kill("SIGINT");
    expect(await running.ended).toMatchObject({ code: 130 });
    expect(await room.readJson("jobs/job/result.json")).toMatchObject({ cancelled: true });
  });

  test("exits with the code of the first signal", async () => {
    const room = await makeFaultyRoom({ hang: "destroy" });
    const running = await startAndWait(room);
    running.kill("SIGTERM");
    await running.until("it is stopping", () => running.stderr().includes("stopping"));
    running.kill("SIGINT");
    expect(await running.ended).toMatchObject({ code: 143 });
  });
});

describe("before a job has begun", () => {
  test.for(["SIGINT", "SIGTERM"] as const)("%s ends a check of the environment that takes long", async (signal) => {
    const room = await makeFaultyRoom({ hang: "probe", obeys: true });
    await room.write("provider.ts", tellingProvider(room));
    const running = room.start(["job.yaml"]);
    await running.until("the environment is being checked", () => existsSync(room.path("probing")));
    running.kill(signal);
    const { code, stderr } = await running.ended;
    expect(code).toBe(signal === "SIGINT" ? 130 : 143);
    expect(stderr).not.toContain("bug");
    expect(existsSync(room.path("jobs"))).toBe(false);
  });

  test("an environment that does not answer at all cannot hold the command", async () => {
    const room = await makeFaultyRoom({ hang: "probe" });
    await room.write("provider.ts", tellingProvider(room));
    const running = room.start(["job.yaml"]);
    await running.until("the environment is being checked", () => existsSync(room.path("probing")));
    running.kill("SIGINT");
    expect(await running.ended).toMatchObject({ code: 130, signal: null });
    expect(existsSync(room.path("jobs"))).toBe(false);
  });
});

function tellingProvider(room: Room): string {
  return `import { writeFileSync } from "node:fs";
import { providerModule as faulty } from ${JSON.stringify(`${root}/tests/e2e/faulty-provider.ts`)};
export const providerModule = {
  ...faulty,
  async open(options) {
    const provider = await faulty.open(options);
    const probe = provider.probe.bind(provider);
    provider.probe = (signal) => {
      writeFileSync(${JSON.stringify(room.path("probing"))}, "");
      return probe(signal);
    };
    return provider;
  },
};
`;
}

describe("a job whose process is killed", () => {
  test("can still be shown, with every finished result whole and its configuration there", async () => {
    const room = await makeJobRoom({}, ["a", "b", "c"]);
    await room.writeJob({
      agents: [
        { name: "quick", execute: "echo hello" },
        { name: "slow", n_concurrent: 1, execute: `tell ${room.path("begun")}\nwait` },
      ],
      n_concurrent_trials: 2,
    });
    const running = await startAndWait(room);
    await running.until("the quick agent is through", async () => {
      const results = (await room.files("jobs/job/quick")).filter((file) => file.endsWith("/result.json"));
      const journal = await room.read("jobs/job/.rollout/journal.jsonl");
      return results.length === 3 && journal.split("trial_finished").length > 3;
    });
    running.kill("SIGKILL");
    expect(await running.ended).toMatchObject({ signal: "SIGKILL" });

    for (const file of await room.files("jobs/job/quick")) {
      if (file.endsWith("/result.json"))
        expect(await room.readJson(`jobs/job/quick/${file}`)).toMatchObject({ reward: 1, error: null });
    }
    expect(await room.readJson("jobs/job/config.json")).toMatchObject({ name: "job", n_concurrent_trials: 2 });

    const shown = await room.run(["show", "jobs/job"]);
    expect(shown).toMatchObject({ code: 0, stderr: "" });
    expect(shown.stdout).toMatch(/This job did not end: its process \d+ is gone\./);
    expect(shown.stdout).toContain("3 of 6 trials finished");
    const json = JSON.parse((await room.run(["show", "jobs/job", "--json"])).stdout) as Record<string, unknown>;
    expect(json).toMatchObject({
      run: { status: "interrupted", owner: null, counts: { completed: 3 }, headline: { value: 1 }, ended_at: null },
    });
    expect(json["units"]).toHaveLength(3);
  });
});
