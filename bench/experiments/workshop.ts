import { chmodSync, createWriteStream, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { once } from "node:events";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { measureOwn, type OwnCost } from "./own-cost.ts";
import type { Peer } from "./peer.ts";

export interface Order {
  readonly examples: number;
  readonly inFlight: number;
  /** Of each example's input and of each task's output. */
  readonly bytes?: number | undefined;
  readonly evaluators?: number | undefined;
  /** What else the command is told. */
  readonly more?: readonly string[] | undefined;
  /** Which executor answers; the Node one that speaks the protocol and no more, or a command. */
  readonly executor?: { readonly command: string; readonly file: string } | undefined;
}

const root = join(import.meta.dirname, "../..");

/** A directory with datasets and executors, in which orchestrators are run and leave nothing behind. */
export class Workshop implements Disposable {
  readonly dir = mkdtempSync(join(tmpdir(), "rollout-bench-"));
  readonly #datasets = new Map<string, string>();
  /** The Node executor as one word, which is all that some take for a command. */
  readonly #marked: string;
  #count = 0;

  constructor() {
    this.#marked = this.write(
      "marked-executor",
      `#!/bin/sh\nexec "${process.execPath}" "${join(import.meta.dirname, "marked-executor.ts")}"\n`,
    );
    chmodSync(this.#marked, 0o755);
    this.write("bench.py", "");
  }

  write(name: string, text: string): string {
    const path = join(this.dir, name);
    writeFileSync(path, text);
    return path;
  }

  /** Ours, from the start of its process to the end, with its directory of JSON lines. */
  async runOurs(order: Order): Promise<OwnCost> {
    const { command, file } = order.executor ?? { command: this.#marked, file: "bench.py" };
    const [name, dataset] = [`ours-${++this.#count}`, await this.#dataset(order)];
    const words = ["--dataset", dataset, "--executor", command, "--output-dir", this.dir, "--name", name, "--quiet"];
    const cost = await measureOwn({
      command: [
        process.execPath,
        join(root, "dist/bin.js"),
        "experiment",
        file,
        ...words,
        "--max-workers",
        String(order.inFlight),
        ...(order.more ?? []),
      ],
      cwd: this.dir,
      env: envOf(order),
      watched: join(this.dir, name, "runs.jsonl"),
    });
    rmSync(join(this.dir, name), { recursive: true, force: true });
    return cost;
  }

  /** The other one, with the same executor and the same kind of directory. */
  async runPeer(peer: Peer, order: Order): Promise<OwnCost> {
    const { command, file } = order.executor ?? { command: this.#marked, file: "bench.py" };
    const [output, dataset] = [join(this.dir, `peer-${++this.#count}`), await this.#dataset(order)];
    const words = ["--dataset", dataset, "--executor", command, "--output-dir", output, "--no-progress"];
    const cost = await measureOwn({
      command: [peer.command, "run", file, ...words, "--max-workers", String(order.inFlight)],
      cwd: this.dir,
      env: envOf(order),
    });
    rmSync(output, { recursive: true, force: true });
    return cost;
  }

  [Symbol.dispose](): void {
    rmSync(this.dir, { recursive: true, force: true });
  }

  async #dataset({ examples, bytes = 60 }: Order): Promise<string> {
    const name = `${examples}-${bytes}.jsonl`;
    const known = this.#datasets.get(name);
    if (known !== undefined) return known;
    const path = join(this.dir, name);
    const file = createWriteStream(path);
    const question = "why? ".repeat(Math.ceil(bytes / 5)).slice(0, bytes);
    for (let n = 0; n < examples; n++) {
      const line = `{"id":"e${n}","input":{"question":"${question}"},"output":{"answer":"it is ${n}"},"metadata":{"kind":"bench"}}\n`;
      if (!file.write(line)) await once(file, "drain");
    }
    file.end();
    await once(file, "close");
    this.#datasets.set(name, path);
    return path;
  }
}

function envOf({ bytes = 100, evaluators = 2 }: Order): Record<string, string> {
  return { BENCH_BYTES: String(bytes), BENCH_EVALUATORS: String(evaluators) };
}
