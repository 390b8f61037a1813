import { spawn, type ChildProcessWithoutNullStreams } from "node:child_process";
import { randomBytes, randomUUID } from "node:crypto";
import {
  closeSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test as anyTest } from "vitest";
import { encodeGroups, joinGroups, readGroups } from "../carried-files.ts";
import { encodeWords } from "./encode-words.ts";
import { FrameReader, type Frame } from "./frame-reader.ts";
import { MarkFinder } from "./mark-finder.ts";
import { mostPieces, planSupervisor, supervisorScript } from "./supervise-script.ts";

const noFiles: Buffer = Buffer.from("0\0");
// It looks at processes where Linux shows them.
const test = anyTest.runIf(process.platform === "linux");
let directory = "";

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "rollout-supervise-"));
});

afterEach(() => {
  rmSync(directory, { recursive: true, force: true });
});

/** One connection to a supervisor on this machine. */
class Connection {
  readonly child: ChildProcessWithoutNullStreams;
  readonly frames: Frame[] = [];
  readonly printed = { o: "", e: "" };
  readonly next = { o: 1, e: 1 };
  readonly ended: Promise<void>;
  readonly #reader = new FrameReader();
  readonly #heard: (() => void)[] = [];

  constructor(
    command: Command,
    { isAcking = true, mayStart = true, next = { o: 1, e: 1 }, files = noFiles, imageEnv = {} } = {},
  ) {
    const { stem, words } = command;
    this.next = { ...next };
    const had = { o: next.o - 1, e: next.e - 1 };
    const [program = "", ...rest] = planSupervisor({ stem, next, had, mayStart });
    // As a container runtime starts it: the first of its group.
    this.child = spawn(program, rest, { detached: true, env: { ...process.env, ...imageEnv } });
    this.child.stdin.on("error", () => {});
    this.child.stdin.write(Buffer.concat([supervisorScript, words, files, Buffer.from(`o ${had.o}\ne ${had.e}\n`)]));
    this.child.stdout.on("data", (bytes: Buffer) => this.#take(bytes, isAcking));
    this.ended = new Promise((resolve) => this.child.on("close", () => resolve()));
  }

  /** The first frame of a kind, once it has come. */
  async frame<Kind extends Frame["kind"]>(kind: Kind): Promise<Extract<Frame, { kind: Kind }>> {
    for (;;) {
      const found = this.frames.find((frame) => frame.kind === kind);
      if (found) return found as Extract<Frame, { kind: Kind }>;
      await new Promise<void>((resolve) => this.#heard.push(resolve));
    }
  }

  /** Lets it tidy up and end. */
  async leave(): Promise<void> {
    this.child.stdin.write("q\n");
    await this.ended;
  }

  #take(bytes: Buffer, isAcking: boolean): void {
    for (const frame of this.#reader.read(bytes) ?? []) {
      this.frames.push(frame);
      if (frame.kind !== "bytes") continue;
      this.printed[frame.stream] += frame.bytes.toString("latin1");
      if (!frame.isLast) continue;
      this.next[frame.stream] = frame.piece + 1;
      if (isAcking) this.child.stdin.write(`${frame.stream} ${frame.piece}\n`);
    }
    for (const heard of this.#heard.splice(0)) heard();
  }
}

interface Command {
  readonly stem: string;
  readonly words: Buffer;
  readonly endMark: string;
}

function planCommand(command: readonly string[], env: Record<string, string> = { COLOUR: "a b" }): Command {
  const mark = randomUUID();
  const endMark = `\u0001\u0002${randomUUID()}`;
  const words = encodeWords({ command, env, cwd: directory, mark, endMark });
  return { stem: join(directory, "plumbing", mark), words, endMark };
}

function before(text: string, mark: string): string {
  return new MarkFinder(mark).take(Buffer.from(text, "latin1")).before.toString("latin1");
}

test("what a short command prints comes with its exit code, and nothing is left behind", async () => {
  const command = planCommand(["bash", "-c", 'echo "$COLOUR"; pwd; printf "to\\0err" >&2; exit 7']);
  const connection = new Connection(command);
  const { exitCode } = await connection.frame("exit");
  expect(exitCode).toBe(7);
  expect(before(connection.printed.o, command.endMark)).toBe(`a b\n${directory}\n`);
  expect(before(connection.printed.e, command.endMark)).toBe("to\0err");
  await connection.leave();
  expect(readdirSync(join(directory, "plumbing"))).toEqual([]);
});

test("every byte arrives as it was, in writes of every length", async () => {
  const lengths = [
    1, 2, 37, 38, 39, 40, 255, 256, 257, 600, 985, 986, 1022, 1023, 1024, 1025, 1063, 4096, 8192, 70_000, 3, 1,
  ];
  const chunks = lengths.map((length) => randomBytes(length));
  // What bash uses for its own marks, and NUL in every place.
  chunks.push(Buffer.from([0]), Buffer.from([1, 127, 0, 1, 1, 127, 127]), Buffer.alloc(300), Buffer.from("\\n%s\\0%%"));
  const all = Buffer.concat(chunks);
  writeFileSync(join(directory, "all"), all);
  const script = `const all = require("fs").readFileSync("all"); let at = 0;
    const next = (lengths) => { if (lengths.length === 0) return;
      require("fs").writeSync(1, all.subarray(at, at += lengths[0]));
      setTimeout(next, lengths.length % 3 === 0 ? 25 : 0, lengths.slice(1)); };
    next(${JSON.stringify(chunks.map(({ length }) => length))});`;
  const command = planCommand([process.execPath, "-e", script]);
  const connection = new Connection(command);
  expect((await connection.frame("exit")).exitCode).toBe(0);
  expect(before(connection.printed.o, command.endMark) === all.toString("latin1")).toBe(true);
  await connection.leave();
});

test("who connects again goes on where the last one was cut off", async () => {
  const command = planCommand([
    "bash",
    "-c",
    "echo one; until [ -e go ]; do sleep 0.05; done; echo two; echo three >&2",
  ]);
  const first = new Connection(command);
  await first.frame("bytes");
  first.child.kill("SIGKILL");
  await first.ended;
  writeFileSync(join(directory, "go"), "");
  const second = new Connection(command, { mayStart: false, next: first.next });
  expect((await second.frame("exit")).exitCode).toBe(0);
  expect(before(first.printed.o + second.printed.o, command.endMark)).toBe("one\ntwo\n");
  expect(before(first.printed.e + second.printed.e, command.endMark)).toBe("three\n");
  await second.leave();
});

test("a supervisor whose connection is lost ends, and its command goes on", async () => {
  const command = planCommand(["bash", "-c", "until [ -e go ]; do sleep 0.05; done; echo done > result"]);
  const connection = new Connection(command);
  await connection.frame("started");
  connection.child.stdin.end();
  await connection.ended;
  writeFileSync(join(directory, "go"), "");
  const again = new Connection(command, { mayStart: true });
  expect((await again.frame("exit")).exitCode).toBe(0);
  expect(readFileSync(join(directory, "result"), "utf8")).toBe("done\n");
  await again.leave();
});

test("who was killed before the command began is replaced, and it runs once", async () => {
  const command = planCommand(["bash", "-c", "echo ran >> result"]);
  mkdirSync(join(directory, "plumbing"));
  writeFileSync(`${command.stem}.lock`, "");
  const [one, two] = [new Connection(command), new Connection(command)];
  await Promise.all([one.frame("exit"), two.frame("exit")]);
  expect(readFileSync(join(directory, "result"), "utf8")).toBe("ran\n");
  await Promise.all([one.leave(), two.leave()]);
}, 30_000);

test("a command whose keeper was killed with it is gone", async () => {
  const command = planCommand(["bash", "-c", "echo $PPID; sleep 60"]);
  const connection = new Connection(command);
  await connection.frame("bytes");
  const keeper = Number.parseInt(connection.printed.o, 10);
  const children = readFileSync(`/proc/${keeper}/task/${keeper}/children`, "utf8").trim().split(" ").map(Number);
  for (const pid of [keeper, ...children]) process.kill(pid, "SIGKILL");
  await connection.frame("gone");
  await connection.leave();
});

test("a command that nobody has started is gone", async () => {
  const connection = new Connection(planCommand(["true"]), { mayStart: false });
  await connection.frame("gone");
  await connection.ended;
});

test("what is not taken holds the command back", async () => {
  const command = planCommand(["bash", "-c", "head -c 12000000 /dev/zero; echo over"]);
  const connection = new Connection(command, { isAcking: false });
  await expect.poll(() => connection.next.o, { timeout: 20_000 }).toBe(mostPieces + 1);
  await new Promise((resolve) => setTimeout(resolve, 300));
  expect(connection.next.o).toBe(mostPieces + 1);
  const taking = setInterval(() => connection.child.stdin.write(`o ${connection.next.o - 1}\n`), 20);
  await connection.frame("exit");
  clearInterval(taking);
  const text = before(connection.printed.o, command.endMark);
  expect([text.length, text.endsWith("\0over\n")]).toEqual([12_000_005, true]);
  await connection.leave();
}, 60_000);

test("files are in place before the command starts, and a command whose files cannot be placed does not start", async () => {
  const signal = new AbortController().signal;
  const at = (name: string): string => join(directory, name);
  mkdirSync(at("old/deep"), { recursive: true });
  writeFileSync(at("old/deep/file"), "");
  const first = await readGroups(
    [
      { kind: "remove", target: at("old") },
      { kind: "file", target: at("new/deep/script.sh"), content: "cat ../other; ls ../..\n", mode: 0o755 },
    ],
    [],
    signal,
  );
  const second = await readGroups(
    [{ kind: "file", target: at("new/other"), content: "hi\n", mode: 0o644 }],
    [],
    signal,
  );
  const over = await readGroups([{ kind: "directory", target: at("new/deep/more") }], [], signal);
  const groups = joinGroups([...(first ?? []), ...(second ?? []), ...(over ?? [])]);
  expect(groups).toHaveLength(1);
  const command = planCommand(["bash", "-c", "cd new/deep && ./script.sh"]);
  const connection = new Connection(command, { files: encodeGroups(groups) });
  expect((await connection.frame("exit")).exitCode).toBe(0);
  expect(before(connection.printed.o, command.endMark)).toBe("hi\nnew\nplumbing\n");
  await connection.leave();

  writeFileSync(at("file"), "");
  const blocked = await readGroups(
    [{ kind: "file", target: at("file/in/file"), content: "", mode: 0o644 }],
    [],
    signal,
  );
  const refused = new Connection(planCommand(["touch", at("started")]), { files: encodeGroups(blocked ?? []) });
  await refused.frame("unplaced");
  await refused.leave();
  expect(existsSync(at("started"))).toBe(false);
});

test("groups that touch the same place stay apart and in their order", async () => {
  const signal = new AbortController().signal;
  const read = async (target: string): Promise<NonNullable<Awaited<ReturnType<typeof readGroups>>>> =>
    (await readGroups([{ kind: "file", target, content: target, mode: 0o644 }], [], signal)) ?? [];
  const groups = joinGroups([
    ...(await read("/a/b")),
    ...(await read("/c")),
    ...(await read("/a")),
    ...(await read("/d")),
  ]);
  expect(groups.map(({ removed }) => removed)).toEqual([
    ["/a/b", "/c"],
    ["/a", "/d"],
  ]);
});

test("a command that ends its whole group ends nothing of ours", async () => {
  const script = `echo before; trap 'trap "" TERM; kill 0' EXIT; sleep 60 & exit 3`;
  const command = planCommand(["bash", "-c", script]);
  const connection = new Connection(command);
  expect((await connection.frame("exit")).exitCode).toBe(3);
  expect(before(connection.printed.o, command.endMark)).toBe("before\n");
  await connection.leave();
});

test("variables reach a command as they were given, whatever the supervisor calls its own", async () => {
  const script = 'echo "$argv $odd $mark $vars $list $next $own $TMOUT $POSIXLY_CORRECT"; sleep 1.2; echo after';
  const command = planCommand(["bash", "-c", script], { argv: "1", odd: "2", mark: "3", vars: "4", LC_ALL: "nowhere" });
  const imageEnv = { list: "5", next: "6", own: "7", argv: "no", TMOUT: "1", FUNCNEST: "1", POSIXLY_CORRECT: "y" };
  const connection = new Connection(command, { imageEnv });
  expect((await connection.frame("exit")).exitCode).toBe(0);
  expect(before(connection.printed.o, command.endMark)).toBe("1 2 3 4 5 6 7 1 y\nafter\n");
  await connection.leave();
});

test("a locale that the image lacks is not complained of in the command's output", async () => {
  const command = planCommand(["cat", "/dev/null"], { LC_ALL: "nowhere" });
  const connection = new Connection(command);
  await connection.frame("exit");
  expect(before(connection.printed.e, command.endMark)).toBe("");
  await connection.leave();
});

test("a command goes on however often nobody was there to be woken", async () => {
  const script = "echo $PPID; until [ -e go ]; do sleep 0.05; done; for i in 1 2 3; do echo $i; sleep 0.05; done";
  const command = planCommand(["bash", "-c", script]);
  const first = new Connection(command);
  await first.frame("bytes");
  first.child.kill("SIGKILL");
  await first.ended;
  const pipe = openSync(`/proc/${Number.parseInt(first.printed.o, 10)}/fd/9`, "r+");
  writeSync(pipe, "\n".repeat(65_536));
  closeSync(pipe);
  writeFileSync(join(directory, "go"), "");
  const second = new Connection(command, { mayStart: false, next: first.next });
  await second.frame("exit");
  await expect.poll(() => second.printed.o.includes(command.endMark), { timeout: 3000 }).toBe(true);
  expect(before(second.printed.o, command.endMark)).toBe("1\n2\n3\n");
  await second.leave();
});

test("who connects while files are being placed waits for them, however long it takes", async () => {
  const command = planCommand(["bash", "-c", "echo ran >> result"]);
  mkdirSync(join(directory, "plumbing"));
  const other = spawn("sleep", ["60"]);
  writeFileSync(`${command.stem}.lock`, `${other.pid}\n`);
  const connection = new Connection(command);
  await new Promise((resolve) => setTimeout(resolve, 6000));
  expect(connection.frames).toEqual([]);
  other.kill("SIGKILL");
  expect((await connection.frame("exit")).exitCode).toBe(0);
  expect(readFileSync(join(directory, "result"), "utf8")).toBe("ran\n");
  await connection.leave();
}, 30_000);

test("no NUL is lost, however long after other output it comes", async () => {
  const script = `const fs = require("fs"); const until = (ms) => { while (performance.now() < ms); };
    for (let i = 0; i < 120; i++) { fs.writeSync(1, "x"); until(performance.now() + 9.5 + i / 100); fs.writeSync(1, "\\0");
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20); }`;
  const command = planCommand([process.execPath, "-e", script]);
  const connection = new Connection(command);
  await connection.frame("exit");
  expect(before(connection.printed.o, command.endMark)).toBe("x\0".repeat(120));
  await connection.leave();
}, 30_000);
