import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

export type StoreKind = "none" | "memory" | "file";

/** What one process is asked to do once. */
export interface Order {
  readonly items: number;
  readonly scorers: number;
  readonly store: StoreKind;
  readonly inFlight: number;
  /** A folder of its own for what it stores. */
  readonly directory: string;
}

/** What it found, without its start-up and without the making of the dataset. */
export interface Outcome {
  readonly items: number;
  readonly wallMs: number;
  readonly cpuMs: number;
  /** Results and scores that its store has afterwards. */
  readonly results: number;
  readonly scores: number;
  /** Of its main process, start-up and all. */
  readonly peakBytes: number;
}

const mark = "outcome ";

/** Does what the process was started for and prints the outcome; the process ends here, whatever a library left open. */
export async function takeOrder<Answer>(work: (order: Order) => Promise<Answer>): Promise<never> {
  const order = JSON.parse(process.argv[2] ?? "{}") as Order;
  const answer = await work(order);
  const peakBytes = process.resourceUsage().maxRSS * 1024;
  const line = `\n${mark}${JSON.stringify({ items: order.items, peakBytes, ...answer })}\n`;
  return new Promise(() => process.stdout.write(line, () => process.exit(0)));
}

/** Runs a program, a file beside this one or elsewhere, in a process and a folder of its own; throws its error when it has no outcome. */
export async function runContender<Answer = Outcome>(
  program: string,
  order: Omit<Order, "directory">,
): Promise<Answer> {
  const root = mkdtempSync(join(tmpdir(), "rollout-bench-"));
  const directory = join(root, "room");
  mkdirSync(directory);
  try {
    const file = resolve(import.meta.dirname, program.includes(".") ? program : `${program}.ts`);
    const { output, errors } = await collect(file, JSON.stringify({ ...order, directory }), directory);
    const line = output.split("\n").findLast((text) => text.startsWith(mark));
    if (line === undefined) throw new Error(`${program}: ${firstError(errors)}`);
    return JSON.parse(line.slice(mark.length)) as Answer;
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
}

function firstError(errors: string): string {
  return (
    errors
      .split("\n")
      .find((line) => /Error\b.*:/.test(line))
      ?.trim() ?? errors.trim().slice(-500)
  );
}

async function collect(file: string, order: string, cwd: string): Promise<{ output: string; errors: string }> {
  const child = spawn(process.execPath, ["--expose-gc", file, order], { cwd, stdio: ["ignore", "pipe", "pipe"] });
  const texts = { output: "", errors: "" };
  child.stdout.setEncoding("utf8").on("data", (text: string) => (texts.output += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (texts.errors += text));
  await new Promise((resolve, reject) => child.once("close", resolve).once("error", reject));
  return texts;
}
