// What a job costs beyond the work itself: start-up, CPU per trial against the bare writes of the same files, memory over a long run.
// ROLLOUT_BENCH_TRIALS sets the length of the long job (10,000).
import { spawnSync } from "node:child_process";
import { mkdir, mkdtemp, open, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { runJob } from "../src/public/jobs.ts";
import { createMemoryProvider, moduleOf } from "../src/public/testing.ts";

const trials = Number(process.env["ROLLOUT_BENCH_TRIALS"] ?? 10_000);
const inFlight = 64;
const chunk = 1000;
const root = await mkdtemp(join(tmpdir(), "rollout-bench-"));

try {
  benchStartUp();
  await benchTrials();
} finally {
  await rm(root, { recursive: true, force: true });
}

function benchStartUp(): void {
  const contenders = {
    "node, empty script": [process.execPath, join(root, "empty.js")],
    "rollout --version (package)": [process.execPath, "dist/bin.js", "--version"],
    "rollout --version (checkout)": ["bin/rollout", "--version"],
    "rollout --help (package)": [process.execPath, "dist/bin.js", "--help"],
  };
  spawnSync("sh", ["-c", `: > ${join(root, "empty.js")}`]);
  spawnSync("bin/rollout", ["--version"]);
  const times = new Map(Object.keys(contenders).map((name) => [name, [] as number[]]));
  for (let round = 0; round < 21; round++) {
    for (const [name, [command = "", ...args]] of Object.entries(contenders)) {
      const from = performance.now();
      spawnSync(command, args, { stdio: "ignore" });
      times.get(name)?.push(performance.now() - from);
    }
  }
  const floor = median(times.get("node, empty script") ?? []);
  console.log("start-up, interleaved, median of 21");
  for (const [name, list] of times)
    console.log(
      `  ${name.padEnd(30)} ${median(list).toFixed(0).padStart(5)} ms  ${(median(list) / floor).toFixed(2)} x`,
    );
}

async function benchTrials(): Promise<void> {
  await makeTasks(10);
  const provider = createMemoryProvider({
    handler: (call) => {
      if (call.command[1] === "/tests/test.sh") call.files.write("/logs/verifier/reward.txt", "1\n");
      return 0;
    },
  });
  // One warm-up of each, so that neither pays for the other's compilation.
  await runTrials(provider, 500, "warm-up");
  await bareWrites(await planOf(join(root, "warm-up")), 500, "bare-warm-up");

  const ours = { cpuMs: 0, wallMs: 0 };
  const bare = { cpuMs: 0, wallMs: 0 };
  const rss: number[] = [];
  let done = 0;
  const plan = await planOf(join(root, "warm-up"));
  const rounds = Math.max(1, Math.round(trials / chunk / 2));
  for (let round = 0; round < rounds; round++) {
    add(ours, await measure(() => runTrials(provider, chunk, `round-${round}`)));
    add(bare, await measure(() => bareWrites(plan, chunk, `bare-${round}`)));
    done += chunk;
    for (const name of [`round-${round}`, `bare-${round}`])
      await rm(join(root, name), { recursive: true, force: true });
  }
  const perTrial = ours.cpuMs / done;
  const perBare = bare.cpuMs / done;
  console.log(
    `\n${done} trials on memory, ${inFlight} in flight, interleaved with the bare writes of the same ${plan.length} files`,
  );
  console.log(
    `  ours        ${perTrial.toFixed(2)} ms CPU per trial, ${(done / (ours.wallMs / 1000)).toFixed(0)} trials/s`,
  );
  console.log(
    `  bare writes ${perBare.toFixed(2)} ms CPU per trial, ${(done / (bare.wallMs / 1000)).toFixed(0)} trials/s`,
  );
  console.log(`  ratio       ${(perTrial / perBare).toFixed(2)} x (bar: 3)`);

  global.gc?.();
  await runTrials(provider, trials, "long", (finished) => {
    if (finished % chunk !== 0) return;
    global.gc?.();
    rss.push(process.memoryUsage.rss() / 1e6);
  });
  console.log(
    `\none job of ${trials} trials: RSS ${rss[0]?.toFixed(0)} MB at ${chunk}, ${rss.at(-1)?.toFixed(0)} MB at ${trials}; grew ${((rss.at(-1) ?? 0) - (rss[0] ?? 0)).toFixed(0)} MB (bar: 50)`,
  );
}

async function runTrials(
  provider: ReturnType<typeof createMemoryProvider>,
  count: number,
  name: string,
  onFinished: (finished: number) => void = () => {},
): Promise<void> {
  let finished = 0;
  const { result } = await runJob(
    {
      name,
      jobs_dir: root,
      n_attempts: count / 10,
      n_concurrent_trials: inFlight,
      environment: { type: "memory" },
      agents: [{ name: "bench", execute: "true" }],
      datasets: [{ path: join(root, "tasks") }],
    },
    {
      environments: { memory: moduleOf(provider) },
      onEvent: (event) => event.type === "unit_finished" && onFinished(++finished),
    },
  );
  if (result.completed_trials !== count || result.pass_rate !== 1)
    throw new Error(`expected ${count} passes: ${JSON.stringify(result.errors)}`);
}

/** The files of one trial, as a finished one left them. */
async function planOf(jobDir: string): Promise<{ path: string; content: string }[]> {
  const trial = join(jobDir, "bench", "tasks", "task-0__1");
  const names = await readdir(trial, { recursive: true, withFileTypes: true });
  return Promise.all(
    names
      .filter((entry) => entry.isFile())
      .map(async (entry) => ({
        path: join(entry.parentPath, entry.name).slice(trial.length + 1),
        content: await readFile(join(entry.parentPath, entry.name), "utf8"),
      })),
  );
}

/** The floor: the same files in the same folders, result.json twice and atomically, one synced journal line per trial. */
async function bareWrites(
  plan: readonly { path: string; content: string }[],
  count: number,
  name: string,
): Promise<void> {
  const dir = join(root, name);
  await mkdir(dir);
  const journal = await open(join(dir, "journal.jsonl"), "a");
  const folders = [...new Set(plan.map(({ path }) => dirname(path)))];
  const line = `${JSON.stringify(JSON.parse(plan.find(({ path }) => path === "result.json")?.content ?? "{}"))}\n`;
  let next = 0;
  let waiting: (() => void)[] = [];
  let syncing = false;
  const sync = async (): Promise<void> => {
    syncing = true;
    while (waiting.length > 0) {
      const batch = waiting;
      waiting = [];
      await journal.write(line.repeat(batch.length));
      await journal.datasync();
      for (const resolve of batch) resolve();
    }
    syncing = false;
  };
  const worker = async (): Promise<void> => {
    while (next < count) {
      const trial = join(dir, String(next++));
      for (const folder of folders) await mkdir(join(trial, folder), { recursive: true });
      for (const { path, content } of plan) {
        for (let time = 0; time < (path === "result.json" ? 2 : 1); time++) {
          if (path !== "result.json") await writeFile(join(trial, path), content);
          else {
            await writeFile(join(trial, `${path}.tmp`), content);
            await rename(join(trial, `${path}.tmp`), join(trial, path));
          }
        }
      }
      await new Promise<void>((resolve) => {
        waiting.push(resolve);
        if (!syncing) void sync();
      });
    }
  };
  await Promise.all(Array.from({ length: inFlight }, worker));
  await journal.close();
}

async function makeTasks(count: number): Promise<void> {
  for (let n = 0; n < count; n++) {
    const dir = join(root, "tasks", `task-${n}`);
    await mkdir(join(dir, "tests"), { recursive: true });
    await mkdir(join(dir, "environment"), { recursive: true });
    await writeFile(join(dir, "task.toml"), 'version = "1.0"\n');
    await writeFile(join(dir, "instruction.md"), "Do nothing.\n");
    await writeFile(join(dir, "environment", "Dockerfile"), "FROM scratch\nWORKDIR /app\n");
    await writeFile(join(dir, "tests", "test.sh"), "echo 1 > /logs/verifier/reward.txt\n");
  }
}

async function measure(work: () => Promise<void>): Promise<{ cpuMs: number; wallMs: number }> {
  const cpu = process.cpuUsage();
  const from = performance.now();
  await work();
  const used = process.cpuUsage(cpu);
  return { cpuMs: (used.user + used.system) / 1000, wallMs: performance.now() - from };
}

function add(total: { cpuMs: number; wallMs: number }, part: { cpuMs: number; wallMs: number }): void {
  total.cpuMs += part.cpuMs;
  total.wallMs += part.wallMs;
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}
