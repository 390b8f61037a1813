import { protobufText, readProtobuf } from "./protobuf.ts";

/** Turns BuildKit's own report of a build into lines for people: each step once, and what it prints. */
export class BuildProgress {
  readonly #numbers = new Map<string, number>();
  readonly #said = new Set<string>();

  /** What a piece of the report adds. */
  read(status: Buffer): string {
    let text = "";
    for (const { number, value } of readProtobuf(status)) {
      if (typeof value === "number") continue;
      if (number === 1) text += this.#step(value);
      else if (number === 3) text += this.#output(value);
    }
    return text;
  }

  #step(vertex: Buffer): string {
    const digest = protobufText(vertex, 1);
    const fields = [...readProtobuf(vertex)];
    const has = (wanted: number): boolean => fields.some(({ number }) => number === wanted);
    const index = this.#numberOf(digest);
    let text = "";
    if (has(5)) text += this.#once(`${digest} start`, `#${index} ${protobufText(vertex, 3)}\n`);
    if (fields.some(({ number, value }) => number === 4 && value === 1)) {
      text += this.#once(`${digest} cached`, `#${index} CACHED\n`);
    }
    const error = protobufText(vertex, 7);
    if (error !== "") text += this.#once(`${digest} error`, `#${index} ERROR: ${error}\n`);
    return text;
  }

  #output(log: Buffer): string {
    const prefix = `#${this.#numberOf(protobufText(log, 1))} `;
    const lines = protobufText(log, 4).replace(/\n$/, "").split("\n");
    return lines.map((line) => `${prefix}${line}\n`).join("");
  }

  #numberOf(digest: string): number {
    const known = this.#numbers.get(digest);
    if (known !== undefined) return known;
    this.#numbers.set(digest, this.#numbers.size + 1);
    return this.#numbers.size;
  }

  #once(key: string, text: string): string {
    if (this.#said.has(key)) return "";
    this.#said.add(key);
    return text;
  }
}
