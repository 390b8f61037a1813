import {
  chmodSync,
  chownSync,
  closeSync,
  lstatSync,
  mkdtempSync,
  readFileSync,
  readlinkSync,
  rmSync,
  writeSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, describe, expect, test } from "vitest";
import { systemClock } from "../../base/clock.ts";
import { startPump } from "./output-pump.ts";
import { PipeStock, readEnd, writeEnd } from "./pipe-stock.ts";
import { ProgramStarter, type ProgramRequest } from "./program-starter.ts";

const path = "/usr/local/bin:/usr/bin:/bin";
const directory = mkdtempSync(join(tmpdir(), "rollout-starter-"));
const starter = new ProgramStarter({ host: process, path });
const pipes = new PipeStock({ directory: join(directory, "pipes"), path, starter });
afterEach(() => starter[Symbol.asyncDispose]());
afterAll(() => rmSync(directory, { recursive: true, force: true }));

function shell(script: string, more: Partial<ProgramRequest> = {}): ProgramRequest {
  return { file: "sh", args: ["-c", script], env: { PATH: path }, cwd: "/", descriptors: [], ...more };
}

async function outputOf(request: ProgramRequest): Promise<string> {
  const pipe = await pipes.take();
  const program = await starter.start({ ...request, descriptors: [null, writeEnd(pipe), null] });
  let text = "";
  const sink = { write: (chunk: Uint8Array) => void (text += Buffer.from(chunk).toString("utf8")) };
  const pump = startPump(pipe, sink, systemClock);
  await program.ended;
  await pump.finish();
  pump.drop();
  return text;
}

function findHelper(): number {
  const children = readFileSync(`/proc/${process.pid}/task/${process.pid}/children`, "utf8").trim().split(" ");
  const isHelper = (pid: string): boolean => readFileSync(`/proc/${pid}/cmdline`, "utf8").includes("--max-semi-space");
  return Number(children.find(isHelper));
}

describe.runIf(process.platform === "linux")("the starter", () => {
  test("tells an exit code from a signal of the same number", async () => {
    const exits = await starter.start(shell("exit 137"));
    const dies = await starter.start(shell("kill -KILL $$"));
    expect(await exits.ended).toEqual({ exitCode: 137, signal: null });
    expect(await dies.ended).toEqual({ exitCode: null, signal: "SIGKILL" });
    expect(dies.end).toEqual({ exitCode: null, signal: "SIGKILL" });
  });

  test("gives a program exactly the variables it was asked to", async () => {
    const env = { PATH: path, "a.b": "line\nline", UID: "7", LC_ALL: "nowhere", ÄÖ: "'\"\\" };
    const request = { file: "env", args: ["-0"], env, cwd: "/", descriptors: [] };
    const text = await outputOf(request);
    expect(Object.fromEntries(text.split("\0").flatMap((line) => (line ? [splitOnce(line)] : [])))).toEqual(env);
  });

  test("hands over no descriptor but those it was given", async () => {
    // The last one is the directory that is being listed.
    expect(await outputOf(shell("ls /proc/self/fd"))).toBe("0\n1\n2\n3\n");
  });

  test("feeds a program through a pipe to its end", async () => {
    const [input, output] = [await pipes.take(), await pipes.take()];
    const program = await starter.start(shell("cat", { descriptors: [readEnd(input), writeEnd(output), null] }));
    let text = "";
    const pump = startPump(output, { write: (chunk) => void (text += Buffer.from(chunk).toString()) }, systemClock);
    writeSync(input.writeDescriptor, "hello");
    closeSync(input.writeDescriptor);
    expect(await program.ended).toEqual({ exitCode: 0, signal: null });
    await pump.finish();
    pump.drop();
    expect(text).toBe("hello");
  });

  test("rejects for a program that is not there, and starts the next one", async () => {
    await expect(starter.start(shell("", { file: "no-such-program" }))).rejects.toMatchObject({ code: "exec_failed" });
    expect(await (await starter.start(shell("exit 3"))).ended).toEqual({ exitCode: 3, signal: null });
  });

  test("kills a program", async () => {
    const program = await starter.start(shell("exec sleep 600"));
    expect(program.end).toBeNull();
    program.kill();
    expect(await program.ended).toEqual({ exitCode: null, signal: "SIGKILL" });
  });

  test("is started anew when it was killed; what it had started counts as lost", async () => {
    const program = await starter.start(shell("exec setpriv --pdeathsig KILL sleep 600"));
    process.kill(findHelper(), "SIGKILL");
    expect(await program.ended).toEqual({ exitCode: null, signal: "SIGKILL" });
    expect(await (await starter.start(shell("exit 4"))).ended).toEqual({ exitCode: 4, signal: null });
  });

  test.runIf(process.getuid?.() === 0)("makes links with the ids and the rights of somebody else", async () => {
    const room = mkdtempSync(join(directory, "links-"));
    const link = { directory: room, name: "there", to: "/some where", uid: 4321, gid: 1234 };
    await expect(starter.link(link)).rejects.toMatchObject({ code: "exec_failed" });
    chmodSync(directory, 0o755);
    chownSync(room, 4321, 1234);
    await starter.link(link);
    expect(readlinkSync(join(room, "there"))).toBe("/some where");
    expect(lstatSync(join(room, "there"))).toMatchObject({ uid: 4321, gid: 1234 });
    await expect(starter.link(link)).rejects.toThrow(/EEXIST/);
    expect(await outputOf(shell("id -u; id -g; pwd"))).toBe("0\n0\n/\n");
  });
});

function splitOnce(line: string): [string, string] {
  const at = line.indexOf("=");
  return [line.slice(0, at), line.slice(at + 1)];
}
