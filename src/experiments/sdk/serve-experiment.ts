import { systemClock, type Timer } from "../../base/clock.ts";
import type { JsonObject } from "../../base/json.ts";
import { messageOf } from "../../base/rollout-error.ts";
import { capabilities, type ExecutorCommand, type InitCommand } from "../protocol.ts";
import { LineSplitter } from "../wire/line-splitter.ts";
import { AnswerChannel, type ServeChannel } from "./answer-channel.ts";
import type { Experiment } from "./experiment-definition.ts";
import { ExperimentRunner } from "./experiment-runner.ts";

const longestLine = 256 * 1024 * 1024;

/** Answers commands about an experiment until it is told to shut down, or its input ends. */
export async function serveExperiment(experiment: Experiment, channel: ServeChannel): Promise<void> {
  await new ExperimentServer(experiment, channel).serve(channel.input);
}

type Work = (signal: AbortSignal) => Promise<readonly object[]>;

class ExperimentServer {
  readonly #runner: ExperimentRunner;
  readonly #answers: AnswerChannel;
  readonly #open = new Set<Promise<void>>();
  readonly #stops = new Map<unknown, AbortController>();
  readonly #over = Promise.withResolvers<void>();
  #heart: Timer | null = null;
  #isClosing = false;

  constructor(experiment: Experiment, channel: ServeChannel) {
    this.#answers = new AnswerChannel(channel);
    this.#runner = new ExperimentRunner(experiment, (text) => this.#answers.print("stderr", `${text}\n`));
  }

  async serve(input: NodeJS.ReadableStream): Promise<void> {
    const lines = new LineSplitter(
      longestLine,
      (source, from, to) => void this.#hear(source.slice(from, to)),
      ({ bytes }) => this.#answers.say({ error: `a command of ${bytes} bytes is too long` }),
    );
    input.on("data", (chunk: Buffer) => lines.push(chunk));
    input.on("end", () => {
      lines.end();
      void this.#close(null);
    });
    await this.#over.promise;
    this.#heart?.clear();
    this.#answers.flush();
  }

  async #hear(line: string): Promise<void> {
    if (line.trim() === "") return;
    let command: ExecutorCommand;
    try {
      command = readCommand(line);
    } catch (error) {
      return this.#answers.say({ error: `this is no command: ${messageOf(error)}` });
    }
    try {
      await this.#obey(command);
    } catch (error) {
      this.#answers.say({ ...whoseOf(command), error: messageOf(error) });
    }
  }

  async #obey(command: ExecutorCommand): Promise<void> {
    const head = "id" in command && command.id !== undefined ? { id: command.id } : {};
    switch (command.cmd) {
      case "discover":
        this.#answers.isMarked = command.capabilities === undefined;
        return this.#answers.say({ ...head, ...(await this.#discover()) });
      case "init":
        return this.#answers.say({ ...head, ...(await this.#init(command)) });
      case "run_task":
        return this.#start(command, async (signal) => [await this.#runner.runTask(command.input, { signal })]);
      case "run_eval":
        return this.#start(command, (signal) => {
          const { input, evaluator, evaluators = evaluator === undefined ? undefined : [evaluator] } = command;
          return this.#runner.runEval(input, evaluators, { signal });
        });
      case "run_aggregate":
        return this.#start(command, async (signal) => [
          await this.#runner.runAggregate(command.aggregate, command.input, { signal }),
        ]);
      case "cancel":
        return this.#stops.get(command.id)?.abort(new Error("cancelled"));
      case "shutdown":
        return await this.#close({ ...head, ok: true });
      default:
        throw new Error(`the command ${JSON.stringify((command as { cmd?: unknown }).cmd)} is unknown`);
    }
  }

  async #discover(): Promise<object> {
    const { aggregates, ...found } = await this.#runner.discover();
    return this.#answers.isMarked ? found : { ...found, aggregates, capabilities };
  }

  async #init(command: Partial<InitCommand>): Promise<object> {
    const { max_workers: maxWorkers = 1, params = {}, capabilities: used, heartbeat_ms: beatMs = 0 } = command;
    const answer = await this.#runner.init({ max_workers: maxWorkers, params });
    if (!answer.ok) return answer;
    if (used !== undefined) this.#answers.isMarked = false;
    this.#answers.usesLog = used?.includes("log") === true;
    this.#runner.remembersRuns = used?.includes("ids") !== true;
    if (used?.includes("heartbeat") === true && beatMs > 0) this.#beat(beatMs);
    return answer;
  }

  #beat(everyMs: number): void {
    this.#heart?.clear();
    this.#heart = systemClock.startTimer(everyMs, () => {
      this.#answers.say({ heartbeat: { running: this.#open.size } });
      this.#beat(everyMs);
    });
  }

  #start(command: { readonly id?: number | undefined; readonly input: object }, work: Work): void {
    if (this.#isClosing) throw new Error("this executor is shutting down");
    if (typeof command.input !== "object" || command.input === null) throw new Error("input is missing");
    const { id } = command;
    const stop = new AbortController();
    if (id !== undefined) this.#stops.set(id, stop);
    const head = id === undefined ? {} : { id };
    const done = this.#answers
      .during(runIdOf(command.input), async () => {
        for (const answer of await work(stop.signal)) this.#answers.say({ ...head, ...answer });
      })
      .catch((error: unknown) => this.#answers.say({ ...whoseOf(command), error: messageOf(error) }))
      .finally(() => {
        this.#stops.delete(id);
        this.#open.delete(done);
      });
    this.#open.add(done);
  }

  async #close(answer: object | null): Promise<void> {
    this.#isClosing = true;
    while (this.#open.size > 0) await Promise.all(this.#open);
    if (answer !== null) this.#answers.say(answer);
    this.#over.resolve();
  }
}

function readCommand(line: string): ExecutorCommand {
  const command: unknown = JSON.parse(line);
  if (typeof command !== "object" || command === null || Array.isArray(command)) throw new Error("it is no object");
  return command as ExecutorCommand;
}

/** All that tells whose answer it is. */
function whoseOf(command: object): JsonObject {
  const { id, evaluator, aggregate, input } = command as Readonly<Record<string, JsonObject | undefined>>;
  const whose = { id, run_id: input?.["run_id"], evaluator, aggregate };
  return Object.fromEntries(Object.entries(whose).flatMap(([name, value]) => (value == null ? [] : [[name, value]])));
}

function runIdOf(input: object): string {
  const { run_id: runId, example, id } = input as Readonly<Record<string, unknown>>;
  const found = runId ?? (example as { run_id?: unknown; id?: unknown } | undefined)?.run_id ?? id;
  return typeof found === "string" ? found : "";
}
