import { spawn } from "node:child_process";
import { Duplex } from "node:stream";
import { EngineError } from "./engine-error.ts";

/** A stream to an engine on another machine, by way of the system's own `ssh`; it fails with what ssh said. */
export function openSshConnection(args: readonly string[], env: Readonly<Record<string, string | undefined>>): Duplex {
  const child = spawn("ssh", args, { env: { ...env }, stdio: ["pipe", "pipe", "pipe"] });
  let complaint = "";
  const fail = (why: string): void => void stream.destroy(new EngineError(null, `ssh: ${complaint.trim() || why}`));
  const stream = new Duplex({
    read: () => void child.stdout.resume(),
    // When it cannot be written to it is ending, and its end tells why.
    write: (chunk: Uint8Array, _encoding, done) =>
      void child.stdin.write(chunk, (error) => {
        if (!error) done();
      }),
    final: (done) => void child.stdin.end(done),
    destroy(error, done) {
      child.kill();
      done(error);
    },
  });
  child.stdin.on("error", () => {});
  child.stderr.on("data", (chunk: Buffer) => (complaint = (complaint + chunk.toString("utf8")).slice(-2000)));
  child.stdout.on("data", (chunk: Buffer) => {
    if (!stream.push(chunk)) child.stdout.pause();
  });
  child.on("error", (error) => fail(error.message));
  // Only now is it known whether the end of its output is an end or a failure.
  child.on("close", (code) => (code === 0 ? stream.push(null) : fail(`it ended with ${code}`)));
  // What node:http asks of a socket beside reading and writing.
  const socketLike = { setKeepAlive: () => stream, setNoDelay: () => stream, setTimeout: () => stream };
  return Object.assign(stream, socketLike, { ref: () => child.ref(), unref: () => child.unref() });
}
