import { randomUUID } from "node:crypto";
import type { ExecStream } from "../connection/exec-stream.ts";
import { KubeError } from "../connection/kube-error.ts";
import { commandMark } from "../../guest/end-processes.ts";
import { MarkFinder } from "./mark-finder.ts";

const toolPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
const mostOutput = 64_000;
const mostUnread = 2 ** 20;
// What is on its way when a program ends may be lost, so that it waits until all of it has arrived.
const waitingInSh = `mark=$1; shift; "$@"; code=$?; printf '%s%s\\n' "$mark" "$code"; read -r _; exit "$code"`;
const waitingForScript = `mark=$1 script=$2; shift 2; (eval "$script"); code=$?; printf '%s%s\\n' "$mark" "$code"; read -r -t 600 _; exit "$code"`;

export interface ToolRequest {
  /** What bash runs, with the words of the command as its arguments; absent when the command is a program of its own. */
  readonly script?: string | undefined;
  readonly command: readonly string[];
  /** What it reads; asked for anew when the tool has to be started again. */
  readonly input?: (() => AsyncIterable<Uint8Array>) | undefined;
  /** Takes what it prints; kept as text when absent. */
  readonly output?: ((bytes: AsyncIterable<Buffer>) => Promise<void>) | undefined;
  /** Nothing stands beside it that it could end with all else; it must print something, and not much. */
  readonly isAlone?: boolean | undefined;
  /** The Pod is not a trial's, and may have no bash. */
  readonly isSh?: boolean | undefined;
  readonly signal: AbortSignal;
}

export interface ToolOutcome {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a small tool once, out of reach of the image's settings; rejects with a `KubeError` when the connection is lost. */
export async function runTool(
  open: (command: readonly string[], signal: AbortSignal) => Promise<ExecStream>,
  { script, command, input, output, isAlone, isSh, signal }: ToolRequest,
): Promise<ToolOutcome> {
  const mark = `\u0001\u0002${randomUUID()}`;
  const marks = [`${commandMark}=tool`, `PATH=${toolPath}`, "LC_ALL=C", "LD_PRELOAD="];
  const wrapper = isAlone
    ? []
    : isSh
      ? ["sh", "-c", waitingInSh, "sh", mark]
      : ["bash", "-p", "-c", waitingForScript, "bash", mark, script ?? '"$@"'];
  const stream = await open(["env", ...marks, ...wrapper, ...command], signal);
  const onAbort = (): void => stream[Symbol.dispose]();
  signal.addEventListener("abort", onAbort, { once: true });
  const tool = new RunningTool(stream, mark);
  let failure: { readonly error: unknown } | null = null;
  const feeding = tool.feed(input).catch((error: unknown) => {
    failure = { error };
    // A tool that ended early reads no more, and its exit code says why; another would wait for ever.
    if (!(error instanceof KubeError)) stream[Symbol.dispose]();
  });
  try {
    await output?.(tool.printed());
    const exitCode = await tool.awaitExit(output !== undefined);
    await feeding;
    if (exitCode === 0 && !(isAlone ? tool.stdout !== "" : tool.isMarked)) {
      // A container runtime that goes away ends what runs in it as if all were well.
      throw new KubeError(null, "the connection ended before the end of a command was heard of");
    }
    void tool.leave();
    return { exitCode, stdout: tool.stdout, stderr: tool.stderr };
  } catch (error) {
    stream[Symbol.dispose]();
    throw failureOf(failure) ?? error;
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}

function failureOf(failure: { readonly error: unknown } | null): unknown {
  return failure === null || failure.error instanceof KubeError ? null : failure.error;
}

class RunningTool {
  readonly #stream: ExecStream;
  readonly #finder: MarkFinder;
  #trailer: string | null = null;
  #exitCode: number | null = null;
  stdout = "";
  stderr = "";

  constructor(stream: ExecStream, mark: string) {
    this.#stream = stream;
    this.#finder = new MarkFinder(mark);
  }

  /** It told its exit code itself. */
  get isMarked(): boolean {
    return this.#trailer !== null;
  }

  async feed(input: (() => AsyncIterable<Uint8Array>) | undefined): Promise<void> {
    if (input === undefined) return;
    for await (const chunk of input()) await this.#stream.write(chunk);
    // Then nothing holds the tool any more, so that it must not print much.
    await this.#stream.endInput();
  }

  async *printed(): AsyncGenerator<Buffer> {
    while (this.#exitCode === null) {
      const bytes = await this.#next();
      if (bytes !== null && bytes.length > 0) yield bytes;
    }
  }

  /** Passes over what nobody cared for; a tool that has much more to say is left. */
  async awaitExit(isRead: boolean): Promise<number> {
    for (let left = mostUnread; left > 0 && this.#exitCode === null;) {
      const bytes = await this.#next();
      if (bytes === null) continue;
      if (isRead) left -= bytes.length;
      else this.stdout = (this.stdout + bytes.toString("utf8")).slice(-mostOutput);
    }
    return this.#exitCode ?? 0;
  }

  /** Lets it go; nobody has to wait for that. */
  async leave(): Promise<void> {
    try {
      await this.#stream.endInput();
      while ((await this.#stream.next()).kind !== "exit");
    } catch {
      // Then it is gone already.
    } finally {
      this.#stream[Symbol.dispose]();
    }
  }

  // The next bytes of its output; null when something else was heard.
  async #next(): Promise<Buffer | null> {
    const part = await this.#stream.next();
    if (part.kind === "exit") {
      this.#exitCode = part.exitCode;
      return null;
    }
    if (part.kind === "stderr") {
      this.stderr = (this.stderr + part.bytes.toString("utf8")).slice(-mostOutput);
      return null;
    }
    if (this.#trailer === null) {
      const { before, after } = this.#finder.take(part.bytes);
      if (after !== null) this.#readTrailer(after);
      return before;
    }
    this.#readTrailer(part.bytes);
    return null;
  }

  #readTrailer(bytes: Buffer): void {
    this.#trailer = (this.#trailer ?? "") + bytes.toString("latin1");
    const code = /^(\d+)\n/.exec(this.#trailer)?.[1];
    if (code !== undefined) this.#exitCode = Number(code);
  }
}
