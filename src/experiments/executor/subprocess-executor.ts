import type { Clock } from "../../base/clock.ts";
import type { JsonObject } from "../../base/json.ts";
import type { JsonText } from "../../base/json-text.ts";
import { toRaw } from "../../base/raw-json.ts";
import type { RawMembers } from "../../base/raw-members.ts";
import { messageOf, RolloutError } from "../../base/rollout-error.ts";
import { startDeadline } from "../../engine/deadline.ts";
import { LimitWatch } from "../../engine/limit-watch.ts";
import { raceWithSignal } from "../../engine/race-with-signal.ts";
import { capabilities, type AggregateAnswer, type Capability, type DiscoverAnswer } from "../protocol.ts";
import { readBegunLine, readLine, type WireLine, type WireMessage } from "../wire/read-line.ts";
import {
  ExecutorLost,
  type AggregateRequest,
  type CallBounds,
  type EvalOutcome,
  type EvalRequest,
  type Executor,
  type TaskOutcome,
  type TaskRequest,
} from "./executor.ts";
import { ExecutorProcess } from "./executor-process.ts";
import type { ExecutorListener, ExecutorNote } from "./executor-voice.ts";
import { refuseDuplicateNames } from "./find-duplicate-names.ts";
import { LastWords } from "./last-words.ts";
import { NamelessErrors, runOfNamelessError } from "./nameless-errors.ts";
import { PendingAnswers, type Pending, type Waiter } from "./pending-answers.ts";
import {
  aggregateKey,
  answersControl,
  evalKey,
  isAnswer,
  keyOf,
  readDiscovered,
  readLog,
  taskKey,
  type ControlCommand,
} from "./read-message.ts";
import {
  describeFlaw,
  errorOf,
  numberOf,
  readAggregate,
  readEvalOutcome,
  readTaskOutcome,
  textOf,
} from "./read-outcome.ts";

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
  readonly limits: ExecutorLimits;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly onNote: ExecutorListener;
}

/** How an executor is set up. */
export interface ExecutorSetup {
  readonly maxWorkers: number;
  /** Over the discovered ones. */
  readonly params: JsonObject;
  /** Those of the experiment that is scored anew: over the discovered ones as well, where the file has any of that name. */
  readonly inherited?: JsonObject | undefined;
}

interface Call<T> {
  /** How answers without an id name it. */
  readonly key: string;
  readonly runId: string | null;
  /** For people. */
  readonly what: string;
  readonly bounds: CallBounds;
  /** The evaluator or aggregate. */
  readonly name: string;
  /** What its answer says. */
  readonly read: (members: RawMembers, name: string) => T;
}

const heartbeatMs = 5000;
const graceMs = 2000;
// An executor that has not come back this long after a limit does not come back.
const owedMs = 5000;
const shownWords = 300;
const mostFollowed = 64;

/** An executor in a process of its own, spoken to over its stdin and stdout. */
export class SubprocessExecutor implements Executor {
  readonly #process: ExecutorProcess;
  readonly #options: SubprocessOptions;
  readonly #pending = new PendingAnswers();
  readonly #limits: LimitWatch<Pending>;
  /** What calls of a run end by; they are few, however many calls there are. */
  readonly #followed = new Map<AbortSignal, () => void>();
  #lastFollowed: AbortSignal | null = null;
  readonly #stuck = Promise.withResolvers<void>();
  readonly #gone = Promise.withResolvers<string>();
  readonly #words = new LastWords();
  /** How it ended, with its last words; null while it lives. */
  #how: string | null = null;
  #owing: PromiseWithResolvers<void> | null = null;
  #discovered: DiscoverAnswer = { protocol_version: "1.0", evaluators: [], params: {} };
  #used: ReadonlySet<Capability> = new Set();
  /** It marks its answers: what has no mark is output. It takes one evaluator at a time. */
  #isMarked = false;
  #control: { readonly command: ControlCommand; readonly answer: PromiseWithResolvers<RawMembers> } | null = null;
  readonly #nameless = new NamelessErrors(this.#pending);
  #count = 0;

  private constructor(options: SubprocessOptions) {
    this.#options = options;
    this.#limits = new LimitWatch({
      clock: options.clock,
      calls: () => this.#pending.all,
      onExceeded: (pending, reason) => this.#end(pending, reason),
    });
    this.#process = new ExecutorProcess({
      ...options,
      onLine: (source, from, to) => this.#hear(source, from, to),
      onBegunLine: (source, from, to) => this.#hearBegun(source, from, to),
      onPrint: (stream, text) => this.#print(stream, text),
      onOverlong: (text) => options.onNote({ kind: "malformed", text }),
      onGone: (how) => this.#onGone(how),
    });
  }

  /** Starts an executor and sets it up; rejects when it cannot be used. */
  static async start(options: SubprocessOptions & ExecutorSetup): Promise<SubprocessExecutor> {
    return await (await SubprocessExecutor.open(options)).setUpOrEnd(options);
  }

  /** Starts an executor and asks what it has; nothing runs before it is set up. */
  static async open(options: SubprocessOptions): Promise<SubprocessExecutor> {
    const executor = new SubprocessExecutor(options);
    try {
      await executor.#discover();
      return executor;
    } catch (error) {
      await executor[Symbol.asyncDispose]();
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

  /** It may still be busy with what nobody waits for; resolves once it is not. Null when it is free. */
  get owing(): Promise<void> | null {
    return this.#owing?.promise ?? null;
  }

  /** Resolves when it holds on to something that it should have let go. */
  get stuck(): Promise<void> {
    return this.#stuck.promise;
  }

  runTask(request: TaskRequest): Promise<TaskOutcome> {
    const { runId, input } = request;
    const call = { key: taskKey(runId), runId, what: "the task", name: "", bounds: request, read: readTaskOutcome };
    return this.#ask(call, `{"cmd":"run_task"${this.#nextId()},"input":${input}}\n`);
  }

  runEval(request: EvalRequest): Promise<EvalOutcome> {
    const { runId, evaluator: name, input } = request;
    const raw = toRaw(name);
    const wish = this.#isMarked ? `"evaluator":${raw}` : `"evaluators":[${raw}]`;
    const key = evalKey(runId, name);
    const call = { key, runId, what: `evaluator "${name}"`, name, bounds: request, read: readEvalOutcome };
    return this.#ask(call, `{"cmd":"run_eval"${this.#nextId()},"input":${input},${wish}}\n`);
  }

  async runAggregate(request: AggregateRequest): Promise<AggregateAnswer> {
    const { aggregate: name, resultsPath, params } = request;
    if (!this.#used.has("aggregate")) throw new Error("the executor takes no aggregates");
    const input = `{"results_path":${toRaw(resultsPath)},"params":${params}}`;
    const key = aggregateKey(name);
    const call = { key, runId: null, what: `aggregate "${name}"`, name, bounds: request, read: readAggregate };
    return this.#ask(call, `{"cmd":"run_aggregate"${this.#nextId()},"aggregate":${toRaw(name)},"input":${input}}\n`);
  }

  async shutdown(): Promise<void> {
    this.#process.isAnswering = false;
    if (this.#process.how === null) {
      await this.#tell("shutdown", '{"cmd":"shutdown"}', this.#options.limits.shutdownMs).catch(() => {});
      this.#process.endInput();
      await this.#process.endsWithin(graceMs);
    }
    this.#process.signal("SIGTERM");
    await this.#process.endsWithin(graceMs);
    await this[Symbol.asyncDispose]();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#process.signal("SIGKILL");
    await this.#process.gone;
  }

  /** The same executor, ready for tasks; one that refuses is ended. */
  async setUpOrEnd(setup: ExecutorSetup): Promise<this> {
    try {
      await this.setUp(setup);
      return this;
    } catch (error) {
      await this[Symbol.asyncDispose]();
      this.#options.signal.throwIfAborted();
      throw error;
    }
  }

  /** Rejects when it refuses. */
  async setUp({ maxWorkers, params: given, inherited = {} }: ExecutorSetup): Promise<void> {
    const theirs: readonly string[] = this.#discovered.capabilities ?? [];
    const used = capabilities.filter((name) => theirs.includes(name));
    const extras = used.length === 0 ? {} : { capabilities: used, heartbeat_ms: heartbeatMs };
    const params = { ...this.#discovered.params, ...inheritedParams(this.#discovered, inherited), ...given };
    const init = { cmd: "init", max_workers: maxWorkers, params, ...extras };
    // It may use them as soon as it has read this.
    this.#used = new Set(used);
    const answer = await this.#tell("init", JSON.stringify(init), this.#options.limits.initMs);
    if (answer.get("ok") !== "true")
      throw this.#unusable(`it refused to be set up: ${errorOf(answer) ?? "without a reason"}`);
  }

  async #discover(): Promise<void> {
    const { limits } = this.#options;
    const wish = `{"cmd":"discover","capabilities":${toRaw(capabilities)}}`;
    const members = await this.#tell("discover", wish, limits.discoverMs);
    const complaint = errorOf(members);
    if (complaint !== null) throw this.#unusable(`it cannot load the experiment: ${complaint}`);
    const flaw = describeFlaw(members, "params", " of its answer to discover");
    if (flaw !== null) throw this.#unusable(flaw);
    this.#discovered = readDiscovered(members);
    refuseDuplicateNames(this.#discovered);
  }

  /** Sends a command that is answered before anything else is asked. */
  async #tell(what: ControlCommand, line: string, limitMs: number): Promise<RawMembers> {
    const { clock, signal } = this.#options;
    using deadline = startDeadline({ clock, limitMs, parent: what === "shutdown" ? null : signal, what });
    const answer = Promise.withResolvers<RawMembers>();
    this.#control = { command: what, answer };
    try {
      if (this.#process.how !== null) throw new ExecutorLost(this.#process.how);
      this.#process.write(line);
      return await raceWithSignal(answer.promise, deadline.signal, () => {});
    } catch (error) {
      if (error instanceof ExecutorLost) throw this.#unusable(`${what}: ${error.message}`);
      if (!signal.aborted && deadline.signal.aborted) throw this.#unusable(`${what}: ${messageOf(error)}`);
      throw error;
    } finally {
      this.#control = null;
    }
  }

  /** The member that gives the next call its id, where ids are used. */
  #nextId(): string {
    this.#count++;
    return this.#used.has("ids") ? `,"id":${this.#count}` : "";
  }

  #ask<T>(call: Call<T>, line: string): Promise<T> {
    const { signal } = call.bounds;
    if (this.#how !== null) return Promise.reject(new ExecutorLost(this.#how));
    if (signal.aborted) return Promise.reject(signal.reason);
    return new Promise((settle, reject) => {
      const { name, read } = call;
      const pending = this.#expect(call, { resolve: (members) => settle(read(members, name)), reject });
      this.#follow(signal);
      this.#pending.add(pending);
      this.#limits.begin(pending);
      this.#process.writePart(line);
    });
  }

  /** Apart from where it is asked, so that its function holds on to no more than it needs. */
  #expect({ key, runId, what, bounds }: Omit<Call<unknown>, "read">, waiter: Waiter): Pending {
    const { limitMs, signal } = bounds;
    const dueAt = this.#options.clock.monotonic() + limitMs;
    return { id: this.#count, key, runId, what, limitMs, dueAt, signal, waiter };
  }

  #follow(signal: AbortSignal): void {
    if (signal === this.#lastFollowed || this.#followed.has(signal)) return;
    if (this.#followed.size >= mostFollowed)
      this.#unfollow(new Set(this.#pending.all.map((pending) => pending.signal)));
    const onAbort = (): void => {
      for (const pending of this.#pending.all) if (pending.signal === signal) this.#end(pending, signal.reason);
    };
    this.#followed.set(signal, onAbort);
    this.#lastFollowed = signal;
    signal.addEventListener("abort", onAbort, { once: true });
  }

  /** All but those that something still waits under. */
  #unfollow(needed: ReadonlySet<AbortSignal>): void {
    this.#lastFollowed = null;
    for (const [signal, onAbort] of this.#followed) {
      if (needed.has(signal)) continue;
      signal.removeEventListener("abort", onAbort);
      this.#followed.delete(signal);
    }
  }

  /** Nobody waits for its answer any more. */
  #end(pending: Pending, reason: unknown): void {
    this.#giveUp(pending);
    for (const members of this.#nameless.drop(pending.runId ?? ""))
      this.#hearUnmatched(keyOf(members), errorOf(members) ?? "");
    release(pending)?.reject(reason);
  }

  #giveUp(pending: Pending): void {
    this.#pending.giveUp(pending);
    this.#owing ??= Promise.withResolvers<void>();
    if (this.#used.has("cancel")) this.#process.write(`{"cmd":"cancel","id":${pending.id}}`);
    const timer = this.#options.clock.startTimer(owedMs, () => {
      if (this.#pending.isOwed(pending)) this.#stuck.resolve();
    });
    void this.#process.gone.then(() => timer.clear());
  }

  #hear(source: JsonText, from: number, to: number): void {
    this.#hearParts(source, readLine(source, from, to));
  }

  /** Takes the messages out of a line whose end does not come. */
  #hearBegun(source: JsonText, from: number, to: number): number {
    const line = readBegunLine(source, from, to);
    this.#hearParts(source, line);
    return line.end - from;
  }

  #hearParts(source: JsonText, { messages, printed, isTorn }: WireLine): void {
    if (printed.trim() !== "") this.#print("stdout", `${printed}\n`);
    if (isTorn) this.#noteMalformed(`messages were cut off or written into each other: ${printed}`);
    for (const message of messages) {
      if (this.#take(message, source)) continue;
      const text = source.slice(message.from, message.to);
      this.#note({ kind: "unconfirmed", runId: this.#pending.only?.runId ?? null, stream: "stdout", text });
    }
  }

  /** False for a message that is not confirmed: it has no mark where one is due, or names nothing that it answers. */
  #take(message: WireMessage, source: JsonText): boolean {
    const { members, isMarked } = message;
    if (this.#isMarked && !isMarked) return false;
    const log = members.get("log");
    if (log?.startsWith("{") === true && this.#used.has("log")) this.#note(readLog(log));
    else if (members.get("heartbeat")?.startsWith("{") === true && this.#used.has("heartbeat")) return true;
    else if (this.#control !== null && answersControl(this.#control.command, message)) this.#settleControl(message);
    else if (!isAnswer(message, this.#used)) return false;
    else if (!this.#hearAnswer(members))
      this.#hearUnmatched(keyOf(members), source.slice(message.from, Math.min(message.to, message.from + shownWords)));
    return true;
  }

  #settleControl({ members, isMarked }: WireMessage): void {
    if (this.#control?.command === "discover") {
      this.#isMarked = isMarked;
      this.#process.isAnswering = true;
    }
    this.#control?.answer.resolve(members);
    this.#control = null;
  }

  /** False when nobody waits for it. */
  #hearAnswer(members: RawMembers): boolean {
    const id = this.#used.has("ids") ? numberOf(members, "id") : null;
    const pending = this.#pending.take(id, keyOf(members));
    if (pending !== null) this.#settle(pending, members);
    else if (!this.#hearNameless(id, members)) return false;
    if (this.#nameless.isEmpty) return true;
    for (const [waiting, error] of this.#nameless.take(textOf(members, "run_id") ?? ""))
      if (this.#pending.take(null, waiting.key) !== null) this.#settle(waiting, error);
    return true;
  }

  /** An error that names a run and no evaluator may answer an evaluation. False when it does not. */
  #hearNameless(id: number | null, members: RawMembers): boolean {
    const runId = runOfNamelessError(members);
    if (runId === null) return false;
    if (id === null) return this.#nameless.hold(runId, members);
    const pending = this.#pending.takeOfRun(id, runId);
    if (pending !== null) this.#settle(pending, members);
    return pending !== null;
  }

  #settle(pending: Pending, members: RawMembers): void {
    for (const name of members.flawed) {
      const words = describeFlaw(members, name, ` of ${pending.runId ?? pending.what}`) ?? "";
      const isFatal = name === "output" || name === "score";
      const what = members.flawOf(name) === "non_finite" ? "; stored as text" : "; left out";
      this.#noteMalformed(isFatal ? words : words + what);
    }
    release(pending)?.resolve(members);
  }

  #hearUnmatched(key: string | null, line: string): void {
    const why = this.#pending.explain(key);
    if (!this.#pending.owesAny) {
      this.#owing?.resolve();
      this.#owing = null;
    }
    this.#options.onNote({ kind: "unmatched", why, text: line.slice(0, shownWords) });
  }

  #print(stream: string, text: string): void {
    this.#note({ kind: "output", runId: this.#pending.only?.runId ?? null, stream, text });
  }

  #noteMalformed(text: string): void {
    this.#options.onNote({ kind: "malformed", text: text.slice(0, shownWords) });
  }

  #note(note: ExecutorNote & { readonly kind: "output" | "unconfirmed" }): void {
    this.#words.add(this.#options.clock.monotonic(), note.text);
    this.#options.onNote(note);
  }

  #onGone(ended: string): void {
    const words = this.#words.since(Math.min(...this.#pending.all.map(({ dueAt, limitMs }) => dueAt - limitMs)));
    const how = words === "" ? ended : `${ended}; its last words: ${words}`;
    this.#how = how;
    // Before its calls are rejected: they would be sent to it again, and counted as lost twice.
    this.#gone.resolve(how);
    const error = new ExecutorLost(how);
    this.#limits[Symbol.dispose]();
    this.#unfollow(new Set());
    this.#control?.answer.reject(error);
    for (const pending of this.#pending.all) {
      this.#pending.giveUp(pending);
      release(pending)?.reject(error);
    }
  }

  #unusable(message: string): RolloutError {
    const { complaint } = this.#process;
    return new RolloutError("provider_unavailable", `the executor cannot be used: ${message}`, {
      details: complaint === "" ? [] : complaint.split("\n").slice(-12),
    });
  }
}

/** Tables that have outgrown their place still point to what stood in them: it may not hold on to a whole run. */
function release(pending: Pending): Waiter | null {
  const { waiter } = pending;
  pending.waiter = null;
  return waiter;
}

/** A file that declares its parameters may refuse others. */
function inheritedParams({ params }: DiscoverAnswer, inherited: JsonObject): JsonObject {
  if (Object.keys(params).length === 0) return inherited;
  return Object.fromEntries(Object.entries(inherited).filter(([name]) => Object.hasOwn(params, name)));
}
