import { AsyncLocalStorage } from "node:async_hooks";
import type { JsonObject } from "../../base/json.ts";
import { messageOf } from "../../base/rollout-error.ts";
import type { ExecutorCommand, InitCommand, RunEvalCommand, RunTaskCommand } from "../protocol.ts";
import { LineSplitter } from "../wire/line-splitter.ts";
import type { Experiment } from "./experiment-definition.ts";
import { ExperimentRunner } from "./experiment-runner.ts";

/** Where an executor reads commands and writes answers. */
export interface ServeChannel {
  readonly input: NodeJS.ReadableStream;
  readonly write: (text: string) => void;
  /** Takes over what user code prints; undefined puts it back. */
  readonly redirect: (print: (stream: "stdout" | "stderr", text: string) => void) => void;
}

const longestLine = 256 * 1024 * 1024;

/** Answers commands about an experiment until it is told to shut down, or its input ends. */
export async function serveExperiment(experiment: Experiment, channel: ServeChannel): Promise<void> {
  await new ExperimentServer(experiment, channel).serve();
}

class ExperimentServer {
  readonly #runner: ExperimentRunner;
  readonly #channel: ServeChannel;
  readonly #runs = new AsyncLocalStorage<string>();
  readonly #open = new Set<Promise<void>>();
  readonly #stops = new Map<number, AbortController>();
  readonly #over = Promise.withResolvers<void>();
  #answers = "";
  #usesLog = false;

  constructor(experiment: Experiment, channel: ServeChannel) {
    this.#runner = new ExperimentRunner(experiment);
    this.#channel = channel;
    channel.redirect((stream, text) => this.#print(stream, text));
  }

  async serve(): Promise<void> {
    const lines = new LineSplitter(
      longestLine,
      (line) => void this.#hear(line),
      ({ bytes }) => this.#answer({ error: `a command of ${bytes} bytes is too long` }),
    );
    this.#channel.input.on("data", (chunk: Buffer) => lines.push(chunk));
    this.#channel.input.on("end", () => {
      lines.end();
      void this.#finish();
    });
    await this.#over.promise;
    this.#flush();
  }

  async #hear(line: string): Promise<void> {
    if (line.trim() === "") return;
    let command: ExecutorCommand;
    try {
      command = JSON.parse(line) as ExecutorCommand;
    } catch (error) {
      return this.#answer({ error: `the command is no JSON: ${messageOf(error)}` });
    }
    switch (command.cmd) {
      case "discover":
        return this.#answer(this.#runner.discover());
      case "init":
        return this.#init(command);
      case "run_task":
        return this.#track(command.id, command.input.run_id, (signal) => this.#runTask(command, signal));
      case "run_eval":
        return this.#track(command.id, command.input.run_id, (signal) => this.#runEval(command, signal));
      case "cancel":
        return this.#stops.get(command.id)?.abort(new Error("cancelled"));
      case "shutdown":
        await this.#settle();
        this.#answer({ ok: true });
        return this.#over.resolve();
      default:
        return this.#answer({
          ...idOf(command),
          error: `the command ${JSON.stringify((command as { cmd?: unknown }).cmd)} is unknown`,
        });
    }
  }

  #init({ params, capabilities = [] }: InitCommand): void {
    this.#runner.init(params ?? {});
    this.#usesLog = capabilities.includes("log");
    this.#answer({ ok: true });
  }

  async #runTask({ id, input }: RunTaskCommand, signal: AbortSignal): Promise<void> {
    this.#answer({ ...withId(id), ...(await this.#runner.runTask(input, signal)) });
  }

  async #runEval(command: RunEvalCommand, signal: AbortSignal): Promise<void> {
    const { id, input, evaluator } = command;
    const names = evaluator === undefined ? command.evaluators : [evaluator];
    for (const answer of await this.#runner.runEval(input, names, signal)) this.#answer({ ...withId(id), ...answer });
  }

  #track(id: number | undefined, runId: string, work: (signal: AbortSignal) => Promise<void>): void {
    const stop = new AbortController();
    if (id !== undefined) this.#stops.set(id, stop);
    const done = this.#runs
      .run(runId, () => work(stop.signal))
      .catch((error: unknown) => this.#answer({ ...withId(id), run_id: runId, error: messageOf(error) }))
      .finally(() => {
        if (id !== undefined) this.#stops.delete(id);
        this.#open.delete(done);
      });
    this.#open.add(done);
  }

  async #settle(): Promise<void> {
    while (this.#open.size > 0) await Promise.all(this.#open);
  }

  async #finish(): Promise<void> {
    await this.#settle();
    this.#over.resolve();
  }

  #print(stream: "stdout" | "stderr", text: string): void {
    const runId = this.#runs.getStore() ?? null;
    if (this.#usesLog) this.#answer({ log: { run_id: runId, stream, text } });
    else process.stderr.write(text);
  }

  /** Answers that are ready in one turn are written together. */
  #answer(message: object): void {
    if (this.#answers === "") setImmediate(() => this.#flush());
    this.#answers += `${JSON.stringify(message)}\n`;
  }

  #flush(): void {
    if (this.#answers === "") return;
    const text = this.#answers;
    this.#answers = "";
    this.#channel.write(text);
  }
}

function withId(id: number | undefined): JsonObject {
  return id === undefined ? {} : { id };
}

function idOf(command: object): JsonObject {
  return "id" in command && typeof command.id === "number" ? { id: command.id } : {};
}
