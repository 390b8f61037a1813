import { spawn, type ChildProcessByStdio } from "node:child_process";
import type { Readable, Writable } from "node:stream";
import type { Clock } from "../../base/clock.ts";
import type { JsonObject } from "../../base/json.ts";
import { parseRaw, toRaw, type RawJson } from "../../base/raw-json.ts";
import { messageOf, RolloutError } from "../../base/rollout-error.ts";
import { startDeadline } from "../../engine/deadline.ts";
import { raceWithSignal } from "../../engine/race-with-signal.ts";
import { capabilities, type AggregateAnswer, type Capability, type DiscoverAnswer } from "../protocol.ts";
import { LineSplitter } from "../wire/line-splitter.ts";
import { readLine, type WireMessage } from "../wire/read-line.ts";
import {
  ExecutorLost,
  type AggregateRequest,
  type EvalOutcome,
  type EvalRequest,
  type Executor,
  type TaskOutcome,
  type TaskRequest,
} from "./executor.ts";
import type { ExecutorListener } from "./executor-voice.ts";
import { PendingAnswers, type Pending } from "./pending-answers.ts";
import { errorOf, numberOf, readAggregate, readEvalOutcome, readTaskOutcome, textOf } from "./read-outcome.ts";

/** How long an executor may take for what is not a task or an evaluation. */
export interface ExecutorLimits {
  readonly discoverMs: number;
  readonly initMs: number;
  readonly shutdownMs: number;
}

export interface SubprocessOptions {
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  readonly maxWorkers: number;
  /** Over the discovered ones. */
  readonly params: JsonObject;
  readonly limits: ExecutorLimits;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly onNote: ExecutorListener;
}

type Child = ChildProcessByStdio<Writable, Readable, Readable>;
type Members = ReadonlyMap<string, RawJson>;

const longestLine = 128 * 1024 * 1024;
const longestComplaint = 2000;
const heartbeatMs = 5000;
const graceMs = 2000;

/** An executor in a process of its own, spoken to over its stdin and stdout. */
export class SubprocessExecutor implements Executor {
  readonly #child: Child;
  readonly #options: SubprocessOptions;
  readonly #pending = new PendingAnswers();
  readonly #gone = Promise.withResolvers<string>();
  #discovered: DiscoverAnswer = { protocol_version: "1.0", evaluators: [], params: {} };
  #used: ReadonlySet<Capability> = new Set();
  #takesOneEvaluator = false;
  #control: PromiseWithResolvers<WireMessage> | null = null;
  #count = 0;
  #complaint = "";
  #lost: string | null = null;
  /** It answers on the private channel: what is on its stdout is print, whatever it looks like. */
  #isPrivate = false;

  private constructor(child: Child, options: SubprocessOptions) {
    this.#child = child;
    this.#options = options;
    this.#listen();
  }

  /** Starts an executor and sets it up; rejects when it cannot be used. */
  static async start(options: SubprocessOptions): Promise<SubprocessExecutor> {
    const [program = "", ...args] = options.command;
    const child = spawn(program, args, {
      cwd: options.cwd,
      env: { ...options.env, ROLLOUT_PROTOCOL_FD: "3" },
      // An executor that knows of descriptor 3 answers there, out of the way of what is printed.
      stdio: ["pipe", "pipe", "pipe", "pipe"],
      // A group of its own, so that all it started can be ended with it.
      detached: true,
    });
    const executor = new SubprocessExecutor(child as unknown as Child, options);
    try {
      await executor.#setUp();
      return executor;
    } catch (error) {
      executor.#kill();
      await executor.#gone.promise;
      options.signal.throwIfAborted();
      throw error;
    }
  }

  get discovered(): DiscoverAnswer {
    return this.#discovered;
  }

  /** Says how it ended, once it has. */
  get gone(): Promise<string> {
    return this.#gone.promise;
  }

  async runTask({ runId, input, signal }: TaskRequest): Promise<TaskOutcome> {
    const members = await this.#ask(`task ${runId}`, runId, signal, (id) => `{"cmd":"run_task"${id},"input":${input}}`);
    return readTaskOutcome(members);
  }

  async runEval({ runId, evaluator, input, signal }: EvalRequest): Promise<EvalOutcome> {
    const name = toRaw(evaluator);
    const wish = this.#takesOneEvaluator ? `"evaluator":${name}` : `"evaluators":[${name}]`;
    const members = await this.#ask(
      `eval ${runId} ${evaluator}`,
      runId,
      signal,
      (id) => `{"cmd":"run_eval"${id},"input":${input},${wish}}`,
    );
    return readEvalOutcome(members, evaluator, members.has(nonFiniteMark));
  }

  async runAggregate({ aggregate, resultsPath, signal }: AggregateRequest): Promise<AggregateAnswer> {
    if (!this.#used.has("aggregate")) throw new Error("the executor takes no aggregates");
    const input = toRaw({ results_path: resultsPath, params: this.#options.params });
    const members = await this.#ask(
      `aggregate ${aggregate}`,
      null,
      signal,
      (id) => `{"cmd":"run_aggregate"${id},"aggregate":${toRaw(aggregate)},"input":${input}}`,
    );
    return readAggregate(members, aggregate);
  }

  async shutdown(): Promise<void> {
    if (this.#lost === null) {
      await this.#tell("shutdown", '{"cmd":"shutdown"}', this.#options.limits.shutdownMs).catch(() => {});
      this.#child.stdin.end();
      await this.#endsWithin(graceMs);
    }
    this.#signalGroup("SIGTERM");
    await this.#endsWithin(graceMs);
    this.#kill();
    await this.#gone.promise;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#kill();
    await this.#gone.promise;
  }

  async #setUp(): Promise<void> {
    const { limits, maxWorkers, params } = this.#options;
    const discovered = await this.#tell(
      "discover",
      `{"cmd":"discover","capabilities":${toRaw(capabilities)}}`,
      limits.discoverMs,
    );
    const complaint = errorOf(discovered.members);
    if (complaint !== null) throw unusable(`it cannot load the experiment: ${complaint}`, this.#complaint);
    this.#discovered = readDiscovered(discovered.members);
    this.#takesOneEvaluator = discovered.members.has("__cat__");
    const theirs: readonly string[] = this.#discovered.capabilities ?? [];
    const used = capabilities.filter((name) => theirs.includes(name));
    const extras = used.length === 0 ? {} : { capabilities: used, heartbeat_ms: heartbeatMs };
    const init = { cmd: "init", max_workers: maxWorkers, params: { ...this.#discovered.params, ...params }, ...extras };
    const answer = await this.#tell("init", JSON.stringify(init), limits.initMs);
    if (answer.members.get("ok") !== "true")
      throw unusable(`it refused to be set up: ${errorOf(answer.members) ?? "without a reason"}`, this.#complaint);
    this.#used = new Set(used);
  }

  /** Sends a command that is answered before anything else is asked. */
  async #tell(what: string, line: string, limitMs: number): Promise<WireMessage> {
    const { clock, signal } = this.#options;
    using deadline = startDeadline({ clock, limitMs, parent: what === "shutdown" ? null : signal, what });
    const control = Promise.withResolvers<WireMessage>();
    this.#control = control;
    if (this.#lost !== null) throw new ExecutorLost(this.#lost);
    this.#child.stdin.write(`${line}\n`);
    try {
      return await raceWithSignal(control.promise, deadline.signal, () => {});
    } catch (error) {
      if (error instanceof ExecutorLost) throw unusable(`${what}: ${error.message}`, this.#complaint);
      if (!signal.aborted && deadline.signal.aborted) throw unusable(`${what}: ${messageOf(error)}`, this.#complaint);
      throw error;
    } finally {
      this.#control = null;
    }
  }

  #ask(key: string, runId: string | null, signal: AbortSignal, write: (id: string) => string): Promise<Members> {
    if (this.#lost !== null) return Promise.reject(new ExecutorLost(this.#lost));
    const { promise, resolve, reject } = Promise.withResolvers<Members>();
    const id = ++this.#count;
    const onAbort = (): void => {
      this.#pending.remove(pending);
      if (this.#used.has("cancel")) this.#child.stdin.write(`{"cmd":"cancel","id":${id}}\n`);
      reject(signal.reason);
    };
    const settled = (): void => signal.removeEventListener("abort", onAbort);
    const pending: Pending = {
      id,
      key,
      runId,
      resolve: (members) => {
        settled();
        resolve(members);
      },
      reject: (error) => {
        settled();
        reject(error);
      },
    };
    if (signal.aborted) return Promise.reject(signal.reason);
    signal.addEventListener("abort", onAbort, { once: true });
    this.#pending.add(pending);
    this.#child.stdin.write(`${write(this.#used.has("ids") ? `,"id":${id}` : "")}\n`);
    return promise;
  }

  #listen(): void {
    const { stdin, stdout, stderr } = this.#child;
    const lines = new LineSplitter(
      longestLine,
      (line) => this.#hear(line),
      ({ bytes, head }) =>
        this.#options.onNote({ kind: "malformed", text: `a line of ${bytes} bytes, which begins with ${head}` }),
    );
    stdout.on("data", (chunk: Buffer) =>
      this.#isPrivate ? this.#print("stdout", chunk.toString("utf8")) : lines.push(chunk),
    );
    stdout.on("end", () => lines.end());
    const channel = this.#child.stdio[3] as unknown as Readable;
    const answers = new LineSplitter(
      longestLine,
      (line) => {
        this.#isPrivate = true;
        this.#hear(line);
      },
      ({ bytes }) => this.#options.onNote({ kind: "malformed", text: `a message of ${bytes} bytes` }),
    );
    channel.on("data", (chunk: Buffer) => answers.push(chunk));
    channel.on("end", () => answers.end());
    channel.on("error", () => {});
    stderr.on("data", (chunk: Buffer) => {
      const text = chunk.toString("utf8");
      this.#complaint = (this.#complaint + text).slice(-longestComplaint);
      this.#print("stderr", text);
    });
    // It breaks when the process ends, which is told by its end.
    stdin.on("error", () => {});
    this.#child.on("error", (error) => this.#onGone(`it cannot be started: ${error.message}`));
    this.#child.on("exit", () => this.#signalGroup("SIGKILL"));
    this.#child.on("close", (code, signal) => this.#onGone(`it ended with ${signal ?? `exit code ${code}`}`));
  }

  #hear(line: string): void {
    const { message, printed } = readLine(line);
    if (printed.trim() !== "") this.#print("stdout", `${printed}\n`);
    if (message === null) return;
    const { members } = message;
    if (members.has("log")) return this.#hearLog(members);
    if (members.has("heartbeat")) return;
    if (members.has("data") && !members.has("run_id")) return this.#hearList(members.get("data"));
    if (this.#control !== null && isControl(members)) return this.#control.resolve(message);
    this.#hearAnswer(message, line);
  }

  /** Several answers at once. */
  #hearList(data: RawJson | undefined): void {
    const list: unknown = data === undefined ? [] : parseRaw(data);
    for (const entry of Array.isArray(list) ? list : []) this.#hear(JSON.stringify(entry));
  }

  #hearLog(members: Members): void {
    const log = parseRaw(members.get("log") ?? toRaw({})) as { run_id?: unknown; stream?: unknown; text?: unknown };
    if (typeof log !== "object" || log === null) return;
    const { run_id: runId, stream, text } = log;
    this.#options.onNote({
      kind: "output",
      runId: typeof runId === "string" ? runId : null,
      stream: typeof stream === "string" ? stream : "log",
      text: String(text ?? ""),
    });
  }

  #hearAnswer({ members, hadNonFinite }: WireMessage, line: string): void {
    const key = keyOf(members);
    const id = numberOf(members, "id");
    const pending =
      key !== null ? this.#pending.take(id, key) : id !== null ? this.#pending.takeById(id) : this.#pending.takeOnly();
    if (pending === null) {
      const isKnown = key !== null && this.#pending.wasSettled(key);
      const text = line.slice(0, 300);
      return this.#options.onNote({ kind: "unmatched", why: isKnown ? "duplicate" : "unknown", text });
    }
    pending.resolve(hadNonFinite ? new Map([...members, [nonFiniteMark, "true" as RawJson]]) : members);
  }

  #print(stream: string, text: string): void {
    const [only] = this.#pending.all;
    const runId = this.#pending.size === 1 && only !== undefined ? only.runId : null;
    this.#options.onNote({ kind: "output", runId, stream, text });
  }

  #onGone(how: string): void {
    if (this.#lost !== null) return;
    const words = this.#complaint.trim();
    this.#lost = words === "" ? how : `${how}: ${words.slice(-500)}`;
    const error = new ExecutorLost(this.#lost);
    this.#control?.reject(error);
    for (const pending of [...this.#pending.all]) {
      this.#pending.remove(pending);
      pending.reject(error);
    }
    this.#gone.resolve(this.#lost);
  }

  async #endsWithin(limitMs: number): Promise<void> {
    const timer = Promise.withResolvers<void>();
    const handle = this.#options.clock.startTimer(limitMs, () => timer.resolve());
    await Promise.race([this.#gone.promise, timer.promise]);
    handle.clear();
  }

  #kill(): void {
    this.#signalGroup("SIGKILL");
    this.#child.kill("SIGKILL");
  }

  #signalGroup(name: "SIGTERM" | "SIGKILL"): void {
    if (this.#child.pid === undefined) return;
    try {
      process.kill(-this.#child.pid, name);
    } catch {
      // Nothing is left of it.
    }
  }
}

const nonFiniteMark = "rollout_non_finite";

/** What an answer without an id is about; null when it does not say. */
function keyOf(members: Members): string | null {
  const aggregate = textOf(members, "aggregate");
  if (aggregate !== null) return `aggregate ${aggregate}`;
  const runId = textOf(members, "run_id");
  if (runId === null) return null;
  const evaluator = textOf(members, "evaluator");
  return evaluator === null ? `task ${runId}` : `eval ${runId} ${evaluator}`;
}

function isControl(members: Members): boolean {
  return members.has("ok") || members.has("protocol_version") || (members.has("error") && !members.has("run_id"));
}

function readDiscovered(members: Members): DiscoverAnswer {
  const answer = Object.fromEntries(
    [...members].map(([name, raw]) => [name, parseRaw(raw)]),
  ) as Partial<DiscoverAnswer>;
  return {
    ...answer,
    protocol_version: String(answer.protocol_version ?? "1.0"),
    evaluators: Array.isArray(answer.evaluators) ? answer.evaluators.map(String) : [],
    params: typeof answer.params === "object" && answer.params !== null ? answer.params : {},
  };
}

function unusable(message: string, complaint: string): RolloutError {
  const words = complaint.trim();
  return new RolloutError("provider_unavailable", `the executor cannot be used: ${message}`, {
    details: words === "" ? [] : words.split("\n").slice(-12),
  });
}
