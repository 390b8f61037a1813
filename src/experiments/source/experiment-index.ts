import { join } from "node:path";
import { LineTail } from "../../base/line-tail.ts";
import type { RawMembers } from "../../base/raw-members.ts";
import { scanObject } from "../../base/scan-object.ts";
import type { Unit, UnitRow } from "../../store/run.ts";
import { textOf } from "../executor/read-outcome.ts";
import { readEvaluationLine, runKey } from "../output/directory/result-lines.ts";
import { runIdOf } from "../run/example.ts";
import type { ExperimentNames } from "../run/to-unit.ts";
import { ExampleOrder } from "./example-order.ts";
import { IndexedRun } from "./indexed-run.ts";
import { LineLog } from "./line-log.ts";
import { readUnits } from "./read-units.ts";
import { RowMaker } from "./row-maker.ts";

/** How far the two result files have been read, in bytes. */
export interface ResultPosition {
  readonly runs: number;
  readonly evaluations: number;
}

/** The results of an experiment directory in memory, without texts. Every `refresh` reads only what was added. */
export class ExperimentIndex {
  readonly directory: string;
  readonly names: ExperimentNames;
  readonly examples: ExampleOrder;
  readonly #maker: RowMaker;
  readonly #runs: LineTail;
  readonly #evaluations: LineTail;
  /** By index; empty where nothing is stored. */
  #entries: (IndexedRun | undefined)[] = [];
  #runLog = new LineLog();
  #evaluationLog = new LineLog();
  /** In the order of their indexes. Null after a change. */
  #rows: readonly UnitRow[] | null = null;
  #generation = 0;
  #turn: Promise<unknown> = Promise.resolve();

  constructor(directory: string, names: ExperimentNames) {
    this.directory = directory;
    this.names = names;
    this.#maker = new RowMaker(names);
    this.examples = new ExampleOrder(directory, () => this.#restart());
    this.#runs = new LineTail(join(directory, "runs.jsonl"), {
      onLine: (line, start, end) => this.#take(line, (members) => this.#addRun(members, start, end)),
      onRestart: () => this.#restartRuns(),
    });
    this.#evaluations = new LineTail(join(directory, "evaluations.jsonl"), {
      onLine: (line, start, end) => this.#take(line, (members) => this.#addEvaluation(members, start, end)),
      onRestart: () => this.#restartEvaluations(),
    });
  }

  /** Reads what was added. If a file was replaced, it is read from the beginning. */
  refresh(): Promise<void> {
    const reading = this.#turn.then(async () => {
      await this.examples.refresh();
      await this.#runs.read();
      await this.#evaluations.read();
    });
    this.#turn = reading.catch(() => {});
    return reading;
  }

  /** Rows of the runs whose tasks were answered, in the order of their indexes. */
  get rows(): readonly UnitRow[] {
    return (this.#rows ??= this.#entries.flatMap((entry) => entry?.row ?? []));
  }

  get position(): ResultPosition {
    return { runs: this.#runs.offset, evaluations: this.#evaluations.offset };
  }

  /** Identifies the two files. An empty text stands for a file without a line. */
  get identities(): readonly [runs: string, evaluations: string] {
    return [this.#runs.identity ?? "", this.#evaluations.identity ?? ""];
  }

  /** Grows when a file was replaced, so that earlier positions are not valid. */
  get generation(): number {
    return this.#generation;
  }

  /** Returns the entry at an index; null if the task has no answer. */
  entryAt(index: number): (IndexedRun & { readonly row: UnitRow }) | null {
    const entry = this.#entries[index];
    return entry === undefined || entry.row === null ? null : (entry as IndexedRun & { readonly row: UnitRow });
  }

  /** Returns the index of a key; null if the plan has no such run. */
  indexOf(key: string): number | null {
    const at = key.lastIndexOf("#");
    const repetition = Number(key.slice(at + 1));
    const { repetitions } = this.names;
    if (at === -1 || !Number.isInteger(repetition) || repetition < 1 || repetition > repetitions) return null;
    const position = this.examples.positionOf(key.slice(0, at));
    if (position === null || runIdOf(this.examples.idAt(position), repetition) !== key) return null;
    return position * repetitions + repetition - 1;
  }

  /** Returns runs of which a line lies between two positions: first those with a new task, then those with new evaluations only. */
  changesBetween(from: ResultPosition, to: ResultPosition): readonly number[] {
    const runs = this.#runLog.between(from.runs, to.runs);
    const evaluations = this.#evaluationLog.between(from.evaluations, to.evaluations);
    return [...runs, ...evaluations.difference(runs)];
  }

  /** Reads units with all they hold. Units whose lines are gone are left out. */
  async readUnits(indexes: readonly number[]): Promise<Unit[]> {
    const units = await readUnits(this, indexes);
    if (units.length === indexes.length) return units;
    // The end of a resumed session replaces the files.
    await this.refresh();
    return await readUnits(this, indexes);
  }

  #take(line: Buffer, add: (members: RawMembers) => void): void {
    const members = scanObject(line.toString());
    if (members === null) return;
    this.#rows = null;
    add(members);
  }

  #addRun(members: RawMembers, start: number, end: number): void {
    const index = this.#indexOfLine(members);
    if (index === null) return;
    const { repetitions } = this.names;
    const id = this.examples.idAt(Math.floor(index / repetitions));
    const repetition = (index % repetitions) + 1;
    const row = this.#maker.toRow({ index, runId: runIdOf(id, repetition), repetition }, id, members);
    (this.#entries[index] ??= new IndexedRun()).setTask(row, start);
    this.#runLog.add(index, end);
  }

  #addEvaluation(members: RawMembers, start: number, end: number): void {
    const index = this.#indexOfLine(members);
    if (index === null || textOf(members, "evaluator_name") === null) return;
    const { evaluator, score, error } = readEvaluationLine(members);
    const entry = (this.#entries[index] ??= new IndexedRun());
    entry.setEvaluation(this.#maker.toScore(evaluator, score), error !== null, start);
    this.#evaluationLog.add(index, end);
  }

  #indexOfLine(members: RawMembers): number | null {
    const key = runKey(members);
    return key === null ? null : this.indexOf(key);
  }

  #restart(): void {
    this.#entries = [];
    this.#restartRuns();
    this.#restartEvaluations();
  }

  #restartRuns(): void {
    this.#generation++;
    this.#rows = null;
    this.#runLog = new LineLog();
    for (const entry of this.#entries) entry?.removeTask();
  }

  #restartEvaluations(): void {
    this.#generation++;
    this.#rows = null;
    this.#evaluationLog = new LineLog();
    for (const entry of this.#entries) entry?.removeEvaluations();
  }
}
