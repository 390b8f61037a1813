import { spawn } from "node:child_process";
import { Duplex } from "node:stream";
import { EngineError } from "./engine-error.ts";

/** A stream to an engine on another machine, by way of the system's own `ssh`; it fails with what ssh said. */
export function openSshConnection(args: readonly string[], env: Readonly<Record<string, string | undefined>>): Duplex {
  const child = spawn("ssh", args, { env: { ...env }, stdio: ["pipe", "pipe", "pipe"] });
  let complaint = "";
  child.stderr.on("data", (chunk: Buffer) => (complaint = (complaint + chunk.toString("utf8")).slice(-2000)));
  const stream = Duplex.from({ writable: child.stdin, readable: child.stdout });
  const fail = (why: string): void => void stream.destroy(new EngineError(null, `ssh: ${complaint.trim() || why}`));
  child.on("error", (error) => fail(error.message));
  child.on("exit", (code) => {
    if (code !== 0) fail(`ended with ${code}`);
  });
  stream.on("close", () => child.kill());
  // What node:http asks of a socket beside reading and writing.
  const socketLike = { setKeepAlive: () => stream, setNoDelay: () => stream, setTimeout: () => stream };
  return Object.assign(stream, socketLike, { ref: () => child.ref(), unref: () => child.unref() });
}
