import { createHash, randomBytes } from "node:crypto";
import type { Duplex } from "node:stream";
import type { Clock, Timer } from "../../../base/clock.ts";
import { messageOf } from "../../../base/rollout-error.ts";
import type { KubeClient } from "./kube-client.ts";
import { KubeError } from "./kube-error.ts";

const opcodes = { continuation: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const;
const handshakeMark = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
// An API server sends what it has read at once, in pieces of some 32 KiB.
const largestMessage = 64 * 2 ** 20;
const pingMs = 15_000;
const silenceMs = 45_000;

export interface WebSocketRequest {
  readonly path: string;
  /** One of them must be known to the server. */
  readonly protocols: readonly string[];
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/** A connection of messages; whoever does not ask for the next one holds the other side back. */
export class WebSocketConnection implements Disposable {
  readonly #socket: Duplex;
  readonly #clock: Clock;
  readonly #messages: AsyncGenerator<Buffer>;
  #timer: Timer;
  #heardMs: number;
  #isWaiting = false;

  private constructor(socket: Duplex, clock: Clock) {
    this.#socket = socket;
    this.#clock = clock;
    this.#messages = this.#read();
    this.#heardMs = clock.monotonic();
    this.#timer = clock.startTimer(pingMs, () => this.#ping());
  }

  static async open(client: KubeClient, request: WebSocketRequest): Promise<WebSocketConnection> {
    const key = randomBytes(16).toString("base64");
    const headers = {
      connection: "Upgrade",
      upgrade: "websocket",
      "sec-websocket-version": "13",
      "sec-websocket-key": key,
      "sec-websocket-protocol": request.protocols.join(", "),
    };
    const { path, signal, clock } = request;
    const { socket, headers: answer } = await client.upgrade({ method: "GET", path, signal }, headers);
    const expected = createHash("sha1").update(`${key}${handshakeMark}`).digest("base64");
    if (answer["sec-websocket-accept"] !== expected) {
      socket.destroy();
      throw new KubeError(400, "what answered at the API server's address speaks no websockets");
    }
    if (!request.protocols.includes(answer["sec-websocket-protocol"] ?? "")) {
      socket.destroy();
      throw new KubeError(400, `the API server does not know ${request.protocols.join(", ")}: it is older than 1.30`);
    }
    return new WebSocketConnection(socket, clock);
  }

  /** The next message; null at the orderly end. Rejects with a `KubeError` when the connection is lost. */
  async next(): Promise<Buffer | null> {
    this.#isWaiting = true;
    this.#heardMs = this.#clock.monotonic();
    try {
      const { value, done } = await this.#messages.next();
      return done ? null : value;
    } finally {
      this.#isWaiting = false;
    }
  }

  /** Sends a message; resolves when there is room for another one. */
  send(message: Uint8Array): Promise<void> {
    return this.#write(opcodes.binary, message);
  }

  [Symbol.dispose](): void {
    this.#timer.clear();
    if (!this.#socket.destroyed) void this.#write(opcodes.close, Buffer.from([0x03, 0xe8])).catch(() => {});
    this.#socket.destroy();
  }

  #ping(): void {
    // Nobody can have heard an answer while nobody listens.
    if (this.#isWaiting && this.#clock.monotonic() - this.#heardMs > silenceMs) {
      this.#socket.destroy(new Error(`nothing was heard for ${silenceMs / 1000} seconds`));
      return;
    }
    void this.#write(opcodes.ping, Buffer.alloc(0)).catch(() => {});
    this.#timer = this.#clock.startTimer(pingMs, () => this.#ping());
  }

  #write(opcode: number, payload: Uint8Array): Promise<void> {
    const frame = encodeFrame(opcode, payload);
    return new Promise((resolve, reject) => {
      if (this.#socket.destroyed) return reject(new KubeError(null, "the connection to the API server was lost"));
      this.#socket.write(frame, (error) =>
        error ? reject(new KubeError(null, `the connection to the API server was lost: ${error.message}`)) : resolve(),
      );
    });
  }

  async *#read(): AsyncGenerator<Buffer> {
    let parts: Buffer[] = [];
    const frames = new FrameReader(this.#socket, () => (this.#heardMs = this.#clock.monotonic()));
    for (;;) {
      const { opcode, isFinal, payload } = await frames.next();
      if (opcode === opcodes.close) return;
      if (opcode === opcodes.ping) void this.#write(opcodes.pong, payload).catch(() => {});
      if (opcode > opcodes.binary) continue;
      parts.push(payload);
      if (!isFinal) continue;
      yield parts.length === 1 && parts[0] ? parts[0] : Buffer.concat(parts);
      parts = [];
    }
  }
}

interface Frame {
  readonly opcode: number;
  readonly isFinal: boolean;
  readonly payload: Buffer;
}

class FrameReader {
  readonly #source: AsyncIterator<Buffer>;
  readonly #onHeard: () => void;
  #held: Buffer = Buffer.alloc(0);

  constructor(socket: Duplex, onHeard: () => void) {
    this.#source = (socket as AsyncIterable<Buffer>)[Symbol.asyncIterator]();
    this.#onHeard = onHeard;
  }

  async next(): Promise<Frame> {
    const [first = 0, second = 0] = await this.#take(2);
    const short = second & 0x7f;
    const length =
      short < 126
        ? short
        : short === 126
          ? (await this.#take(2)).readUInt16BE()
          : Number((await this.#take(8)).readBigUInt64BE());
    if (length > largestMessage) throw new KubeError(null, "the API server sent a message that is too long");
    const payload = Buffer.from(await this.#take(length));
    return { opcode: first & 0x0f, isFinal: (first & 0x80) !== 0, payload };
  }

  async #take(size: number): Promise<Buffer> {
    const parts: Buffer[] = [];
    let length = this.#held.length;
    parts.push(this.#held);
    while (length < size) {
      const chunk = await this.#more();
      parts.push(chunk);
      length += chunk.length;
    }
    const all = parts.length === 1 && parts[0] ? parts[0] : Buffer.concat(parts);
    this.#held = all.subarray(size);
    return all.subarray(0, size);
  }

  async #more(): Promise<Buffer> {
    try {
      const { value, done } = await this.#source.next();
      if (!done) {
        this.#onHeard();
        return value;
      }
    } catch (error) {
      throw new KubeError(null, `the connection to the API server was lost: ${messageOf(error)}`, { cause: error });
    }
    throw new KubeError(null, "the connection to the API server was lost");
  }
}

function encodeFrame(opcode: number, payload: Uint8Array): Buffer {
  const size = payload.length;
  const headSize = size < 126 ? 2 : size < 65_536 ? 4 : 10;
  const frame = Buffer.allocUnsafe(headSize + 4 + size);
  frame[0] = 0x80 | opcode;
  frame[1] = 0x80 | (size < 126 ? size : size < 65_536 ? 126 : 127);
  if (headSize === 4) frame.writeUInt16BE(size, 2);
  if (headSize === 10) frame.writeBigUInt64BE(BigInt(size), 2);
  const mask = randomBytes(4);
  mask.copy(frame, headSize);
  frame.set(payload, headSize + 4);
  maskInPlace(frame.subarray(headSize + 4), mask);
  return frame;
}

// The kernel of every upload: four bytes at a time where the memory lies well.
function maskInPlace(bytes: Buffer, mask: Buffer): void {
  const word = mask.readInt32LE();
  let index = 0;
  for (; index + 4 <= bytes.length; index += 4) bytes.writeInt32LE(bytes.readInt32LE(index) ^ word, index);
  for (; index < bytes.length; index++) bytes[index] = (bytes[index] ?? 0) ^ (mask[index % 4] ?? 0);
}
