import type { Clock } from "../../base/clock.ts";
import type { Json, JsonObject } from "../../base/json.ts";
import { messageOf } from "../../base/rollout-error.ts";
import { startDeadline } from "../../engine/deadline.ts";
import { raceWithSignal } from "../../engine/race-with-signal.ts";
import { ExecutorProcess } from "../executor/executor-process.ts";
import type { ProcessWish } from "../executor/start-request.ts";

export interface ConversationOptions extends ProcessWish {
  /** For each thing that is waited for. */
  readonly limitMs: number;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

const longestShown = 400;

/** A talk with an executor in a process of its own, every line of which is remembered. */
export class Conversation implements AsyncDisposable {
  readonly #options: ConversationOptions;
  readonly #process: ExecutorProcess;
  readonly #transcript: string[] = [];
  readonly #strays: string[] = [];
  #heard: JsonObject[] = [];
  #news = Promise.withResolvers<void>();

  constructor(options: ConversationOptions) {
    this.#options = options;
    this.#process = new ExecutorProcess({
      ...options,
      onLine: (source, from, to) => this.#hear(source.slice(from, to)),
      onPrint: (stream, text) => {
        for (const line of text.trimEnd().split("\n")) this.#note(`   (${stream}) ${line}`);
      },
      onOverlong: (words) => this.#stray(words),
      onGone: (how) => {
        this.#note(`   ${how}`);
        this.#ring();
      },
    });
  }

  /** What was said so far, for people. */
  get transcript(): readonly string[] {
    return this.#transcript;
  }

  /** Lines in the place of messages that are none. */
  get strays(): readonly string[] {
    return this.#strays;
  }

  /** Messages that nobody asked for so far. */
  get rest(): readonly JsonObject[] {
    return this.#heard;
  }

  get exitCode(): number | null {
    return this.#process.exitCode;
  }

  say(message: object): void {
    this.sayText(`${JSON.stringify(message)}\n`);
  }

  /** Any text, whole lines or not. */
  sayText(text: string): void {
    this.#note(`-> ${text.endsWith("\n") ? text.slice(0, -1) : `${text} (no line end yet)`}`);
    this.#process.writePart(text);
  }

  endInput(): void {
    this.#note("-> (end of input)");
    this.#process.endInput();
  }

  /**
   * The first message of a kind, once it is there; rejects when it does not come, with what `describeOther` says of one that
   * came in its place.
   */
  async take(
    what: string,
    isIt: (message: JsonObject) => boolean,
    describeOther: (message: JsonObject) => string | null = () => null,
  ): Promise<JsonObject> {
    try {
      return await this.#await(what, isIt);
    } catch (error) {
      const other = this.#heard.map(describeOther).find((words) => words !== null);
      if (other === undefined || this.#options.signal.aborted) throw error;
      throw new Error(`${messageOf(error)}; ${other}`, { cause: error });
    }
  }

  /** Rejects when it goes on. */
  async end(): Promise<void> {
    using deadline = this.#startDeadline("the end of the executor");
    await raceWithSignal(this.#process.gone, deadline.signal, () => {});
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#process.signal("SIGKILL");
    await this.#process.gone;
  }

  async #await(what: string, isIt: (message: JsonObject) => boolean): Promise<JsonObject> {
    using deadline = this.#startDeadline(what);
    for (;;) {
      const found = this.#heard.find(isIt);
      if (found !== undefined) {
        this.#heard = this.#heard.filter((message) => message !== found);
        return found;
      }
      if (this.#process.how !== null) throw new Error(`${what} did not come: ${this.#process.how}`);
      const news = this.#news.promise;
      await raceWithSignal(news, deadline.signal, () => {});
    }
  }

  #startDeadline(what: string): ReturnType<typeof startDeadline> {
    const { clock, limitMs, signal: parent } = this.#options;
    return startDeadline({ clock, limitMs, parent, what });
  }

  #hear(line: string): void {
    if (line.trim() === "") return;
    this.#note(`<- ${line}`);
    const message = parse(line);
    if (typeof message !== "object" || message === null || Array.isArray(message)) return this.#stray(line);
    this.#heard.push(message as JsonObject);
    this.#ring();
  }

  #stray(line: string): void {
    this.#strays.push(shorten(line));
  }

  #note(line: string): void {
    this.#transcript.push(shorten(line));
  }

  #ring(): void {
    const { resolve } = this.#news;
    this.#news = Promise.withResolvers<void>();
    resolve();
  }
}

function parse(line: string): Json | undefined {
  try {
    return JSON.parse(line) as Json;
  } catch {
    return undefined;
  }
}

function shorten(line: string): string {
  return line.length <= longestShown ? line : `${line.slice(0, longestShown)}… (${line.length} characters)`;
}
