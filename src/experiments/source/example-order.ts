import { join } from "node:path";
import { LineTail } from "../../base/line-tail.ts";
import { parseRaw } from "../../base/raw-json.ts";
import { scanObject } from "../../base/scan-object.ts";

/** The ids of the examples of an experiment directory, in the order of examples.jsonl. */
export class ExampleOrder {
  readonly path: string;
  readonly #tail: LineTail;
  readonly #onRestart: () => void;
  #positions = new Map<string, number>();
  #ids: string[] = [];
  #starts: number[] = [];

  /** `onRestart` is called when the file was replaced: positions are different then. */
  constructor(directory: string, onRestart: () => void) {
    this.path = join(directory, "examples.jsonl");
    this.#onRestart = onRestart;
    this.#tail = new LineTail(this.path, {
      onLine: (line, start) => this.#add(line.toString(), start),
      onRestart: () => this.#restart(),
    });
  }

  /** Reads the file if it was not read yet, or replaced. */
  async refresh(): Promise<void> {
    await this.#tail.read();
  }

  /** Returns the position of an example; null if there is no such example. */
  positionOf(id: string): number | null {
    return this.#positions.get(id) ?? null;
  }

  idAt(position: number): string {
    return this.#ids[position] ?? "";
  }

  /** Returns where the line of an example starts. */
  startAt(position: number): number {
    return this.#starts[position] ?? 0;
  }

  #add(text: string, start: number): void {
    const raw = scanObject(text)?.get("id");
    if (raw === undefined) return;
    // A parsed string is a copy. A slice would keep the whole line in memory.
    const id = String(parseRaw(raw));
    this.#positions.set(id, this.#ids.length);
    this.#ids.push(id);
    this.#starts.push(start);
  }

  #restart(): void {
    this.#positions = new Map();
    this.#ids = [];
    this.#starts = [];
    this.#onRestart();
  }
}
