import { createReadStream } from "node:fs";
import { parseRaw, toRaw, type RawJson } from "../../base/raw-json.ts";
import type { EvalOutcome } from "../executor/executor.ts";
import { LineSplitter } from "../wire/line-splitter.ts";
import type { Example, FailureType } from "./example.ts";
import type { DueRun, FinishedRun } from "./experiment-run.ts";
import { openScratchFile } from "./scratch-file.ts";

/** Runs whose tasks were answered and that wait for their evaluations. They are on disk, because there may be millions. */
export interface AnsweredFile extends AsyncDisposable {
  add(finished: FinishedRun): Promise<void>;
  /** From the first to the last. */
  read(): AsyncIterable<DueRun>;
}

/** Opens a new file that is removed when it is disposed. */
export async function openAnsweredFile(): Promise<AnsweredFile> {
  const file = await openScratchFile();
  return {
    add: (finished) => file.append(toLine(finished)),
    async *read() {
      let ready: DueRun[] = [];
      const splitter = new LineSplitter(
        Number.POSITIVE_INFINITY,
        (source, from, to) => ready.push(fromLine(source.slice(from, to))),
        noOverlong,
      );
      for await (const chunk of createReadStream(file.path)) {
        splitter.push(chunk as Buffer);
        yield* ready;
        ready = [];
      }
    },
    [Symbol.asyncDispose]: () => file[Symbol.asyncDispose](),
  };
}

interface Line {
  readonly index: number;
  readonly runId: string;
  readonly example: Example;
  readonly repetition: number;
  readonly output: RawJson | null;
  readonly metadata: RawJson | null;
  readonly error: string | null;
  readonly failureType: FailureType | null;
  readonly evaluations: readonly EvalOutcome[];
  readonly startedAt: number;
  readonly durationMs: number;
  readonly isKept: boolean;
}

// Raw JSON is written as a string: printing it is cheaper than parsing it.
function toLine({ run, outcome, failureType, evaluations, startedAt, durationMs, isKept }: FinishedRun): string {
  const { output, metadata, error } = outcome;
  const line: Line = { ...run, output, metadata, error, failureType, evaluations, startedAt, durationMs, isKept };
  return toRaw(line);
}

function fromLine(text: string): DueRun {
  const line = parseRaw(text as RawJson) as Line;
  const { index, runId, example, repetition, output, metadata, error, failureType, startedAt, durationMs } = line;
  const outcome = { output, metadata, error, isCancelled: false };
  // Evaluations that failed in an earlier session are made again.
  const given = line.evaluations.filter((one) => one.error === null);
  return {
    run: { index, runId, example, repetition },
    known: {
      outcome,
      evaluations: new Map(given.map((one) => [one.evaluator, one])),
      outdated: line.evaluations.filter((one) => one.error !== null),
      failureType,
      startedAt,
      durationMs,
    },
    isNew: !line.isKept,
  };
}

function noOverlong(): void {
  throw new Error("a line of the scratch file is too long to be read");
}
