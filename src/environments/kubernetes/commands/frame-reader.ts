/** What a supervisor says about the command it looks after. */
export type Frame =
  | { readonly kind: "started" }
  | { readonly kind: "gone" }
  | { readonly kind: "unplaced" }
  | {
      readonly kind: "exit";
      readonly exitCode: number;
      readonly memoryKills: number;
      readonly isAlone: boolean;
      readonly isCrowded: boolean;
    }
  | {
      readonly kind: "bytes";
      readonly stream: "o" | "e";
      readonly piece: number;
      readonly bytes: Buffer;
      readonly isLast: boolean;
    };

const longestHead = 200;
const headEnd = ";".charCodeAt(0);

/** Takes apart what a supervisor prints; bytes are handed on as they come. */
export class FrameReader {
  #held: Buffer = Buffer.alloc(0);
  #open: { readonly stream: "o" | "e"; readonly piece: number; left: number } | null = null;

  /** The frames that end in these bytes; null when they are none of a supervisor's. */
  read(bytes: Buffer): Frame[] | null {
    this.#held = this.#held.length === 0 ? bytes : Buffer.concat([this.#held, bytes]);
    const frames: Frame[] = [];
    while (this.#held.length > 0) {
      if (this.#open !== null) {
        frames.push(this.#takeBytes(this.#open));
        continue;
      }
      const end = this.#held.indexOf(headEnd);
      if (end === -1) return this.#held.length > longestHead ? null : frames;
      const head = this.#held.toString("latin1", 0, end);
      this.#held = this.#held.subarray(end + 1);
      const frame = this.#takeHead(head);
      if (frame === null) return null;
      if (frame !== "bytes") frames.push(frame);
    }
    return frames;
  }

  #takeBytes(open: { readonly stream: "o" | "e"; readonly piece: number; left: number }): Frame {
    const bytes = this.#held.subarray(0, open.left);
    this.#held = this.#held.subarray(bytes.length);
    open.left -= bytes.length;
    if (open.left === 0) this.#open = null;
    return { kind: "bytes", stream: open.stream, piece: open.piece, bytes, isLast: open.left === 0 };
  }

  #takeHead(head: string): Frame | "bytes" | null {
    if (head === "h") return { kind: "started" };
    if (head === "g") return { kind: "gone" };
    if (head === "f") return { kind: "unplaced" };
    const exit = /^x (\d+) (-?\d+) ([01]) ([01])$/.exec(head);
    if (exit) {
      const [exitCode = 0, memoryKills = 0, alone, crowded] = exit.slice(1).map(Number);
      return { kind: "exit", exitCode, memoryKills, isAlone: alone === 1, isCrowded: crowded === 1 };
    }
    const piece = /^([oe]) (\d+) (\d+)$/.exec(head);
    if (!piece) return null;
    this.#open = { stream: piece[1] === "o" ? "o" : "e", piece: Number(piece[2]), left: Number(piece[3]) };
    return "bytes";
  }
}
