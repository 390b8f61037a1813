import { join } from "node:path";
import { openRegularFile } from "../../base/open-regular-file.ts";
import type { RawMembers } from "../../base/raw-members.ts";
import { scanObject } from "../../base/scan-object.ts";
import type { Unit } from "../../store/run.ts";
import { readExample } from "../examples/read-example.ts";
import { lineReader } from "../output/directory/line-index.ts";
import { readEvaluationLine, readRunLine, runKey } from "../output/directory/result-lines.ts";
import type { Example } from "../run/example.ts";
import { toUnit } from "../run/to-unit.ts";
import type { ExperimentIndex } from "./experiment-index.ts";

type ReadLine = (offset: number) => Promise<RawMembers | null>;

/** Reads the runs at some indexes as units. A run whose lines are not where they were indexed is left out. */
export async function readUnits(index: ExperimentIndex, indexes: readonly number[]): Promise<Unit[]> {
  await using opened = new AsyncDisposableStack();
  const open = async (path: string): Promise<ReadLine> => {
    const file = await openRegularFile(path);
    if (file === null) return async () => null;
    const read = lineReader(opened.use(file).handle);
    return async (offset) => scanObject(await read(offset));
  };
  const files = {
    examples: await open(index.examples.path),
    runs: await open(join(index.directory, "runs.jsonl")),
    evaluations: await open(join(index.directory, "evaluations.jsonl")),
  };
  const units: Unit[] = [];
  for (const at of indexes) {
    const unit = await readUnit(index, at, files);
    if (unit !== null) units.push(unit);
  }
  return units;
}

interface ResultFiles {
  readonly examples: ReadLine;
  readonly runs: ReadLine;
  readonly evaluations: ReadLine;
}

async function readUnit(index: ExperimentIndex, at: number, files: ResultFiles): Promise<Unit | null> {
  const entry = index.entryAt(at);
  if (entry === null) return null;
  const { key } = entry.row;
  const { repetitions } = index.names;
  const position = Math.floor(at / repetitions);
  const example = await readExampleAt(index, position, files);
  const line = await files.runs(entry.runStart);
  if (example === null || line === null || runKey(line) !== key) return null;
  const evaluations = [];
  for (const start of entry.evaluationStarts) {
    const members = await files.evaluations(start);
    if (members === null || runKey(members) !== key) return null;
    evaluations.push(readEvaluationLine(members));
  }
  const run = { index: at, runId: key, example, repetition: (at % repetitions) + 1 };
  return toPlainUnit(toUnit({ ...readRunLine(run, line), evaluations }, index.names));
}

async function readExampleAt(
  index: ExperimentIndex,
  position: number,
  { examples }: ResultFiles,
): Promise<Example | null> {
  const members = await examples(index.examples.startAt(position));
  const example = members && readExample(members);
  if (example === null || !("input" in example)) return null;
  const { input, output, metadata } = example;
  return example.id === index.examples.idAt(position) ? { id: example.id, input, output, metadata } : null;
}

/** Returns a unit without getters, and without an output if it has none. */
export function toPlainUnit({ output, ...unit }: Unit): Unit {
  return output === undefined ? unit : { ...unit, output };
}
