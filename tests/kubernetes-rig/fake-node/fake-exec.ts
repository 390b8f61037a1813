import { createHash } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";

const mark = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
const binary = 0x82;
const closeCode = 8;
const channels = { stdout: 1, status: 3 } as const;

/**
 * Answers an exec as a Pod would in which every small tool succeeds and `sleep` sleeps: a node without a kubelet has
 * nobody else to answer.
 */
export function answerExec(request: IncomingMessage, socket: Duplex): void {
  const command = new URL(request.url ?? "/", "http://pod").searchParams.getAll("command");
  const key = String(request.headers["sec-websocket-key"]);
  const accept = createHash("sha1").update(`${key}${mark}`).digest("base64");
  const head = ["HTTP/1.1 101 Switching Protocols", "Upgrade: websocket", "Connection: Upgrade"];
  const protocol = String(request.headers["sec-websocket-protocol"]);
  socket.write(
    [...head, `Sec-WebSocket-Accept: ${accept}`, `Sec-WebSocket-Protocol: ${protocol}`, "", ""].join("\r\n"),
  );
  const send = (channel: number, text: string): void => {
    if (!socket.destroyed) socket.write(encode(channel, text));
  };
  const end = (): void => send(channels.status, '{"status":"Success"}');
  const onMessage = isTool(command) ? playTool(command, send, end) : playSupervisor(send, end);
  let held: Buffer = Buffer.alloc(0);
  socket.on("error", () => {});
  socket.on("data", (chunk: Buffer) => {
    held = Buffer.concat([held, chunk]);
    for (let frame = takeFrame(held); frame !== null; frame = takeFrame(held)) {
      held = held.subarray(frame.size);
      if (frame.opcode === closeCode) socket.end();
      else if (frame.opcode < closeCode) onMessage(frame.payload.subarray(1));
    }
  });
}

type Send = (channel: number, text: string) => void;

// What a tool needs stands in its words, what a command needs comes over its input.
function isTool(command: readonly string[]): boolean {
  return command.some((word) => word.startsWith("PATH="));
}

function playTool(command: readonly string[], send: Send, end: () => void): (bytes: Buffer) => void {
  const endMark = command[command.indexOf("-c") + 3] ?? "";
  const isAlone = !endMark.startsWith("\u0001");
  if (isAlone) {
    send(channels.stdout, "\n");
    end();
  } else send(channels.stdout, `0 /\n${endMark}0\n`);
  return end;
}

function playSupervisor(send: Send, end: () => void): (bytes: Buffer) => void {
  let isStarted = false;
  return (bytes) => {
    const text = bytes.toString("utf8");
    if (isStarted && text.startsWith("q")) end();
    if (isStarted) return;
    isStarted = true;
    const words = text.split("\0");
    const seconds = Number(words[words.indexOf("sleep") + 1] ?? 0);
    const endMark = words.find((word) => word.startsWith("\u0001")) ?? "";
    send(channels.stdout, "h;");
    const piece = (stream: string): string => `${stream} 1 ${endMark.length};${endMark}`;
    setTimeout(() => send(channels.stdout, `${piece("o")}${piece("e")}x 0 0 1 0;`), seconds * 1000);
  };
}

function encode(channel: number, text: string): Buffer {
  const payload = Buffer.concat([Buffer.from([channel]), Buffer.from(text)]);
  const isShort = payload.length < 126;
  const head = Buffer.from(isShort ? [binary, payload.length] : [binary, 126, payload.length >> 8, payload.length]);
  return Buffer.concat([head, payload]);
}

function takeFrame(bytes: Buffer): { readonly opcode: number; readonly payload: Buffer; readonly size: number } | null {
  if (bytes.length < 2) return null;
  const short = (bytes[1] ?? 0) & 0x7f;
  const start = short < 126 ? 2 : short === 126 ? 4 : 10;
  if (bytes.length < start) return null;
  const length = short < 126 ? short : short === 126 ? bytes.readUInt16BE(2) : Number(bytes.readBigUInt64BE(2));
  const size = start + 4 + length;
  if (bytes.length < size) return null;
  const payload = Buffer.from(bytes.subarray(start + 4, size));
  for (let index = 0; index < length; index++)
    payload[index] = (payload[index] ?? 0) ^ (bytes[start + (index % 4)] ?? 0);
  return { opcode: (bytes[0] ?? 0) & 0x0f, payload, size };
}
