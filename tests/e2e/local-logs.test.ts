import { existsSync, lstatSync, readFileSync, readlinkSync, writeFileSync } from "node:fs";
import { mkdir, readdir, stat, writeFile } from "node:fs/promises";
import { join, relative, resolve } from "node:path";
import { describe, expect, test } from "vitest";
import { openLocalRig, rewarding, type LocalRoom } from "./local-rig.ts";

const rig = await openLocalRig();
const trialDir = "jobs/job/agent/tasks/one__1";

// Everything that a folder of logs should not hold, made in the working directory.
const makeHostile = String.raw`
ln -s /etc/passwd absolute; ln -s ../../../../../../../../etc/passwd climbing; ln -s / root; ln -s /logs/agent/plain by-inner-path
ln -s loop-b loop-a; ln -s loop-a loop-b; ln -s . here; ln -s nowhere dangling; echo plain > plain; ln -s plain inside; ln plain hard
mkfifo pipe; mknod device c 0 0; mknod null c 1 3 2>/dev/null
perl -MIO::Socket::UNIX -e 'IO::Socket::UNIX->new(Local => "socket", Listen => 1) or die' && touch has-socket
cp /bin/true suid; chmod 6755 suid; echo closed > closed; chmod 000 closed; mkdir locked; echo x > locked/x; chmod 000 locked
echo x > $'new\nline'; echo x > $'\e[31mred\e[0m\a'; echo x > $'not-\xff-text'; echo x > -rf; echo x > ' '; echo x > '$(touch owned)'
long=$(printf 'n%.0s' {1..250}); echo "a $TOKEN" > $long; echo "b $TOKEN" > secret; chmod 000 secret
mkdir deep; (cd deep; for i in {1..24}; do mkdir $long; cd $long; done; echo x > bottom)
`;

async function everythingBelow(dir: string): Promise<string[]> {
  const entries = await readdir(dir, { recursive: true, withFileTypes: true });
  return entries.map((entry) => join(entry.parentPath, entry.name));
}

async function expectHarmless(room: LocalRoom): Promise<void> {
  const top = room.path(trialDir);
  for (const path of await everythingBelow(top)) {
    const stats = lstatSync(path);
    const isPlain = stats.isFile() || stats.isDirectory() || stats.isSymbolicLink();
    expect(isPlain, `${path} is a file, a directory or a link`).toBe(true);
    expect(stats.mode & 0o6000, `${path} lends nobody's rights`).toBe(0);
    if (!stats.isSymbolicLink()) continue;
    const target = resolve(path, "..", readlinkSync(path));
    expect(relative(room.path(trialDir, "logs"), target), `${path} stays in the logs`).not.toMatch(/^\.\./);
  }
}

describe("logs full of links, devices, pipes, sockets and strange names", () => {
  test.for(["disk", "memory"])("are collected safely from a %s, and the reward is read", async (storage) => {
    const room = await rig.makeRoom(
      {
        one: {
          instruction: `cd /logs/agent\n${makeHostile}\nrm -rf /logs/verifier; ln -s /etc /logs/verifier; true`,
          test: `${rewarding(1)}; cd /logs/verifier\n${makeHostile}\ntrue`,
        },
      },
      {
        environment: { type: "local", provider_config: { storage } },
        agents: [{ name: "agent", env: { TOKEN: "${TOKEN}" }, execute: 'bash "$ROLLOUT_TASK_INSTRUCTION" execute' }],
        verifier: { env: { TOKEN: "${TOKEN}" } },
      },
    );
    const { code, stdout, stderr } = await room.run(["job.yaml"], { env: { TOKEN: "tell-nobody" } });
    expect(await room.trial("agent/tasks/one__1")).toMatchObject({ reward: 1, error: null });
    expect(code).toBe(0);
    // eslint-disable-next-line no-control-regex -- these are what must not be there
    expect(stdout + stderr).not.toMatch(/[\u0007\u001b]/);
    await expectHarmless(room);
    const { warnings } = await room.trial("agent/tasks/one__1");
    for (const part of ["agent", "verifier"]) {
      const said = warnings
        .filter((warning) => warning.startsWith(`/logs/${part}/`))
        .map((warning) => warning.slice(`/logs/${part}/`.length));
      for (const [name, reason] of [
        ["absolute", /link/],
        ["climbing", /link/],
        ["root", /link/],
        ["pipe", /pipe/],
        ["device", /device/],
        // An archive has no way to say that there was one, and not every machine has a tool that makes one.
        ...(storage === "disk" && existsSync(room.path(trialDir, "logs", part, "has-socket"))
          ? ([["socket", /socket/]] as const)
          : []),
      ] as const) {
        const found = said.filter((warning) => warning.startsWith(`${name} was not copied: `));
        expect(found, `${part}/${name}`).toEqual([expect.stringMatching(reason)]);
      }
      expect(said.some((warning) => warning.startsWith("not-"))).toBe(true);
      expect(said.some((warning) => warning.startsWith("deep/"))).toBe(true);
      const logs = room.path(trialDir, "logs", part);
      for (const name of ["plain", "inside", "hard"]) expect(readFileSync(join(logs, name), "utf8")).toBe("plain\n");
      expect(readFileSync(join(logs, "closed"), "utf8")).toBe("closed\n");
      for (const name of ["new\nline", "\u001b[31mred\u001b[0m\u0007", "-rf", " ", "$(touch owned)", "locked/x"])
        expect(readFileSync(join(logs, name), "utf8")).toBe("x\n");
      expect(readFileSync(join(logs, "n".repeat(250)), "utf8")).toBe("a [redacted:TOKEN]\n");
      expect(readFileSync(join(logs, "secret"), "utf8")).toBe("b [redacted:TOKEN]\n");
      expect(lstatSync(join(logs, "loop-a")).isSymbolicLink()).toBe(true);
    }
  });

  test("thousands of things that are refused do not fill the result", async () => {
    const room = await rig.makeRoom({
      one: { instruction: "[ $1 = install ] || ln -s -t /logs/agent $(seq -f /etc/passwd-%g 3000)" },
    });
    expect(await room.run(["job.yaml"])).toMatchObject({ code: 0 });
    const { warnings, reward } = await room.trial("agent/tasks/one__1");
    expect(reward).toBe(1);
    expect(warnings.length).toBe(51);
    expect(warnings.at(-1)).toMatch(/\d+ more/);
    expect(await room.files(`${trialDir}/logs/agent`)).toEqual([]);
  });
});

test("a task with 5,000 files: all reach the image, the tests and the logs", async () => {
  const room = await rig.makeRoom({
    one: {
      dockerfile: "FROM debian\nCOPY files /app/files\nRUN ls /app/files | wc -l > /app/count\n",
      instruction: "[ $1 = install ] || cp -r /app/files /logs/agent/files",
      test: `[ $(cat /app/count) = 5000 ] && diff -rq /tests/files /app/files && ${rewarding(1)}`,
    },
  });
  for (const folder of ["environment/files", "tests/files"]) {
    await mkdir(room.path("tasks/one", folder), { recursive: true });
    for (let i = 0; i < 5000; i++) writeFileSync(room.path("tasks/one", folder, `file-${i}.txt`), `content ${i}\n`);
  }
  expect(await room.run(["job.yaml"])).toMatchObject({ code: 0 });
  expect(await room.trial("agent/tasks/one__1")).toMatchObject({ reward: 1, warnings: [] });
  expect(await room.files(`${trialDir}/logs/agent/files`)).toHaveLength(5000);
  expect(await room.read(`${trialDir}/logs/agent/files/file-4999.txt`)).toBe("content 4999\n");
});

test("an agent that prints 100 MB costs neither memory nor more disk than output_limit", async () => {
  const flood = "yes 'a line that says nothing' | head -c 50M";
  const room = await rig.makeRoom(
    {
      one: {
        instruction: `[ $1 = install ] && exit; echo first; ${flood}; ${flood} >&2; echo last; until [ -e /tmp/go ]; do sleep 0.05; done`,
      },
    },
    { output_limit: "1Mi" },
  );
  const running = room.start(["job.yaml"]);
  const printed = room.path(trialDir, "command/stdout.txt");
  await running.until("all is printed", () => rig.processes().some((words) => words.endsWith("sleep 0.05")));
  const peakKilobytes = Number(/VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${running.pid}/status`, "utf8"))?.[1]);
  await writeFile(join(rig.environmentDir(rig.environments()[0] ?? ""), "disk/volumes/tmp/go"), "");
  expect(await running.ended).toMatchObject({ code: 0 });
  expect(peakKilobytes).toBeGreaterThan(30_000);
  expect(peakKilobytes).toBeLessThan(300_000);
  for (const file of ["stdout.txt", "stderr.txt"]) {
    const { size } = await stat(room.path(trialDir, "command", file));
    expect(size).toBeGreaterThanOrEqual(1 << 20);
    expect(size).toBeLessThan((1 << 20) + 1000);
  }
  const text = readFileSync(printed, "utf8");
  expect(text).toMatch(/^first\na line/);
  expect(text).toMatch(/\nlast\n$/);
  expect(text).toMatch(/\d+ bytes were cut here/);
});
