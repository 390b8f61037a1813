import fc from "fast-check";
import { expect, test } from "vitest";
import { WorkQueue } from "./work-queue.ts";

interface World {
  readonly tasks: readonly { readonly readMs: number; readonly runMs: number; readonly evals: readonly number[] }[];
  readonly workers: number;
}

const delays = fc.integer({ min: 0, max: 4 });
const worlds: fc.Arbitrary<World> = fc.record({
  tasks: fc.array(fc.record({ readMs: delays, runMs: delays, evals: fc.array(delays, { maxLength: 4 }) }), {
    maxLength: 25,
  }),
  workers: fc.integer({ min: 1, max: 7 }),
});

/** Waits in turns of the event loop, so that hundreds of worlds take no time. */
async function turns(count: number): Promise<void> {
  for (let n = 0; n < count; n++) await new Promise((resolve) => setImmediate(resolve));
}

async function live({ tasks, workers }: World) {
  let place = 0;
  let isReading = false;
  let inFlight = 0;
  let mostInFlight = 0;
  let idleWithWork = 0;
  let waitingEvals = 0;
  let asking = 0;
  const ran: string[] = [];
  const queue = new WorkQueue<number, { task: number; n: number }>(async () => {
    expect(isReading, "asked twice at a time").toBe(false);
    isReading = true;
    const task = place < tasks.length ? place++ : null;
    await turns(task === null ? 0 : tasks[task]!.readMs);
    isReading = false;
    return task;
  });
  const work = async (): Promise<void> => {
    for (;;) {
      asking++;
      const job = await queue.take();
      asking--;
      if (job === null) return;
      mostInFlight = Math.max(mostInFlight, ++inFlight);
      if (job.kind === "task") {
        const { runMs, evals } = tasks[job.task]!;
        await turns(runMs);
        ran.push(`task ${job.task}`);
        waitingEvals += evals.length;
        queue.push(evals.map((_, n) => ({ task: job.task, n })));
      } else {
        waitingEvals--;
        await turns(tasks[job.eval.task]!.evals[job.eval.n]!);
        ran.push(`eval ${job.eval.task} ${job.eval.n}`);
      }
      inFlight--;
      queue.done();
    }
  };
  const all = Promise.all(Array.from({ length: workers }, work));
  const over = new AbortController();
  const watching = (async () => {
    // Between two turns of the event loop everybody who could be woken has been.
    for (; !over.signal.aborted; await turns(1)) if (waitingEvals > 0 && asking > 0) idleWithWork++;
  })();
  await all;
  over.abort();
  await watching;
  return { ran, mostInFlight, idleWithWork };
}

test("everything is done once, never more at a time than there are workers, and nobody is idle with work left", async () => {
  await fc.assert(
    fc.asyncProperty(worlds, async (world) => {
      const { ran, mostInFlight, idleWithWork } = await live(world);
      const all = world.tasks.flatMap(({ evals }, task) => [
        `task ${task}`,
        ...evals.map((_, n) => `eval ${task} ${n}`),
      ]);
      expect(ran.toSorted()).toEqual(all.toSorted());
      expect(mostInFlight).toBeLessThanOrEqual(world.workers);
      expect(idleWithWork).toBe(0);
    }),
    { numRuns: 150 },
  );
});

test("an evaluation that is ready goes before a task that is ready", async () => {
  let next = 0;
  const queue = new WorkQueue<number, string>(async () => (next < 3 ? next++ : null));
  expect(await queue.take()).toEqual({ kind: "task", task: 0 });
  await turns(2);
  queue.push(["a", "b"]);
  queue.done();
  expect(await queue.take()).toEqual({ kind: "eval", eval: "a" });
  expect(await queue.take()).toEqual({ kind: "eval", eval: "b" });
  expect(await queue.take()).toEqual({ kind: "task", task: 1 });
});

test("a source that fails fails whoever waits, and whoever comes later", async () => {
  const queue = new WorkQueue<number, string>(() => Promise.reject(new Error("the file is gone")));
  await expect(Promise.all([queue.take(), queue.take()])).rejects.toThrow("the file is gone");
  await expect(queue.take()).rejects.toThrow("the file is gone");
});
