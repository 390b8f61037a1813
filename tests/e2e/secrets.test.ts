import { describe, expect, test } from "vitest";
import { agentOf, makeJobRoom, type Room } from "./rollout-cli.ts";

const canary = "canary+tweet/5f0c1b7e=d9";
const judge = "judge&canary?77ab12";
const env = { MY_KEY: canary, JUDGE_KEY: judge };

// Everything a careless or hostile agent can do with its key: print it, split it, encode it, log it, die with it.
const leaks = [
  "print-env MY_KEY",
  "write /logs/agent/trace.txt key is $MY_KEY.",
  "write /logs/agent/deep/usage.txt $MY_KEY",
  `echo ${Buffer.from(canary).toString("base64")}`,
  `echo ${encodeURIComponent(canary)}`,
  `complain ${JSON.stringify({ key: canary })}`,
];

async function expectNoCanary(room: Room, texts: readonly string[]): Promise<void> {
  const forms = [canary, judge].flatMap((value) => [
    value,
    encodeURIComponent(value),
    Buffer.from(value).toString("base64").replace(/=+$/, "").slice(0, -1),
  ]);
  const files = await room.files("jobs");
  expect(files.length).toBeGreaterThan(5);
  for (const text of [...texts, ...files, ...(await Promise.all(files.map((file) => room.read(`jobs/${file}`))))]) {
    for (const form of forms) expect(text).not.toContain(form);
  }
}

describe("a key that a job takes from the environment", () => {
  const changes = (ending: string): Record<string, unknown> => ({
    ...agentOf([...leaks, ending].join("\n"), { env: { MY_KEY: "${MY_KEY}" } }),
    verifier: { env: { JUDGE_KEY: "${JUDGE_KEY}" } },
    log_level: "debug",
  });

  test("is given to the agent, and is in no file of the job and in nothing that is printed", async () => {
    const room = await makeJobRoom(changes("echo done"));
    await room.writeTask("tasks/alpha", {
      test: "print-env JUDGE_KEY\nwrite /logs/verifier/why.txt $JUDGE_KEY\nreward 1",
    });
    const ran = await room.run(["job.yaml", "--json=events"], { env });
    expect(ran.code).toBe(0);
    const shown = await room.run(["show", "jobs/job/agent/tasks/alpha__1"], { env });
    await expectNoCanary(room, [ran.stdout, ran.stderr, shown.stdout, shown.stderr]);
    const trial = "jobs/job/agent/tasks/alpha__1";
    expect(await room.read(`${trial}/command/stdout.txt`)).toContain("MY_KEY=[redacted:MY_KEY]\n");
    expect(await room.read(`${trial}/logs/agent/trace.txt`)).toBe("key is [redacted:MY_KEY].\n");
    expect(await room.read(`${trial}/logs/verifier/stdout.txt`)).toBe("JUDGE_KEY=[redacted:JUDGE_KEY]\n");
    const config = await room.readJson("jobs/job/config.json");
    expect(config).toMatchObject({ agents: [{ env: { MY_KEY: "${MY_KEY}" } }] });
  });

  test("is not in the messages of an agent that fails with it either", async () => {
    const room = await makeJobRoom(changes("print-env MY_KEY\nexit 9"));
    const ran = await room.run(["job.yaml"], { env });
    expect(ran.code).toBe(3);
    const shown = await room.run(["show", "jobs/job"], { env });
    await expectNoCanary(room, [ran.stdout, ran.stderr, shown.stdout, shown.stderr]);
    expect(await room.read("jobs/job/agent/tasks/alpha__1/error.txt")).toContain("[redacted:MY_KEY]");
  });

  test("that is too short to be told from other text is named in a warning", async () => {
    const room = await makeJobRoom(agentOf("echo hi", { env: { PIN: "${PIN}" } }));
    const { code, stderr } = await room.run(["job.yaml"], { env: { PIN: "1234" } });
    expect(code).toBe(0);
    expect(stderr).toMatch(/warning .*PIN .*not redacted/);
    expect(stderr).not.toContain("1234");
  });

  test("does not reach the verifier, nor the verifier's the agent", async () => {
    const room = await makeJobRoom({
      ...agentOf("print-env JUDGE_KEY", { env: { MY_KEY: "${MY_KEY}" } }),
      verifier: { env: { JUDGE_KEY: "${JUDGE_KEY}" } },
    });
    await room.writeTask("tasks/alpha", { test: "print-env MY_KEY\nreward 1" });
    expect(await room.run(["job.yaml"], { env })).toMatchObject({ code: 0 });
    expect(await room.read("jobs/job/agent/tasks/alpha__1/command/stdout.txt")).toBe("JUDGE_KEY=\n");
    expect(await room.read("jobs/job/agent/tasks/alpha__1/logs/verifier/stdout.txt")).toBe("MY_KEY=\n");
  });

  test("that is set in the shell and not named in the job reaches nobody", async () => {
    const room = await makeJobRoom(agentOf("print-env MY_KEY"));
    await room.run(["job.yaml"], { env });
    expect(await room.read("jobs/job/agent/tasks/alpha__1/command/stdout.txt")).toBe("MY_KEY=\n");
  });
});
