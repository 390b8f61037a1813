import { existsSync } from "node:fs";
import { copyFile, mkdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Json, JsonObject } from "../../base/json.ts";
import { scanObject, toRaw, type RawJson } from "../../base/raw-json.ts";
import { noSecrets } from "../../base/redactor.ts";
import { RolloutError } from "../../base/rollout-error.ts";
import { writeFileAtomic, writeJsonAtomic } from "../../base/writers/atomic-file.ts";
import { openLineFile } from "../../base/writers/line-file.ts";
import type { EvalOutcome } from "../executor/executor.ts";
import { errorOf, readEvalOutcome, textOf } from "../executor/read-outcome.ts";
import type { EarlierRun, ExperimentOutput } from "./experiment-output.ts";

export interface DirectoryOptions {
  readonly directory: string;
  /** What must be the same when the experiment is taken up again, and what is worth knowing. */
  readonly config: JsonObject;
  readonly datasetPath: string;
  readonly resumes: boolean;
}

/** A directory of JSON lines: config.json, examples.jsonl, runs.jsonl, evaluations.jsonl, summary.json or error.txt. */
export async function openDirectoryOutput(options: DirectoryOptions): Promise<ExperimentOutput> {
  const { directory, config, resumes } = options;
  const path = (name: string): string => join(directory, name);
  if (!resumes && existsSync(path("config.json")))
    throw new RolloutError("already_exists", `${directory} holds an experiment already`, {
      hint: "go on with it with --resume, or choose another --name",
    });
  await mkdir(directory, { recursive: true });
  const earlier = resumes ? await readEarlier(directory) : null;
  await writeJsonAtomic(path("config.json"), config, noSecrets);
  if (!existsSync(path("examples.jsonl"))) await copyFile(options.datasetPath, path("examples.jsonl"));
  await using opened = new AsyncDisposableStack();
  const runs = opened.use(await openLineFile(path("runs.jsonl"), noSecrets));
  const evaluations = opened.use(await openLineFile(path("evaluations.jsonl"), noSecrets));
  const kept = opened.move();
  return {
    location: directory,
    findEarlier: earlier && (async (runId) => earlier.get(runId) ?? null),
    saveRun({ run, outcome, startedAt, completedAt }) {
      const { example } = run;
      return runs.append(
        `{"example_id":${toRaw(example.id)},"run_id":${toRaw(run.runId)},"repetition_number":${run.repetition},"started_at":"${isoTime(startedAt)}","completed_at":"${isoTime(completedAt)}","input_data":${example.input},"output":${example.output ?? "null"},"actual_output":${outcome.output ?? "null"},"metadata":${outcome.metadata ?? "{}"},"error":${toRaw(outcome.error)}}`,
      );
    },
    saveEvaluation(run, outcome) {
      return evaluations.append(evaluationLine(run.runId, outcome));
    },
    async complete(summary: Json) {
      await writeJsonAtomic(path("summary.json"), summary, noSecrets);
    },
    async fail(error) {
      await writeFileAtomic(path("error.txt"), `${error}\n`, noSecrets);
    },
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}

function evaluationLine(runId: string, { evaluator, score, label, explanation, metadata, error }: EvalOutcome): string {
  return `{"run_id":${toRaw(runId)},"evaluator_name":${toRaw(evaluator)},"score":${toRaw(score)},"label":${toRaw(label)},"explanation":${toRaw(explanation)},"metadata":${metadata ?? "{}"},"error":${toRaw(error)}}`;
}

async function readEarlier(directory: string): Promise<Map<string, EarlierRun>> {
  if (!existsSync(join(directory, "config.json")))
    throw new RolloutError("not_found", `${directory} holds no experiment to go on with`);
  const found = new Map<string, EarlierRun & { readonly evaluations: Map<string, EvalOutcome> }>();
  for (const members of await readMembers(join(directory, "runs.jsonl"))) {
    const runId = textOf(members, "run_id");
    if (runId === null) continue;
    const error = errorOf(members);
    const output = error === null ? (members.get("actual_output") ?? null) : null;
    const outcome = { output, metadata: members.get("metadata") ?? null, error, isCancelled: false };
    found.set(runId, { outcome, evaluations: new Map() });
  }
  for (const members of await readMembers(join(directory, "evaluations.jsonl"))) {
    const evaluator = textOf(members, "evaluator_name");
    const run = found.get(textOf(members, "run_id") ?? "");
    // An evaluation that failed is asked for again.
    if (evaluator !== null && run !== undefined && errorOf(members) === null)
      run.evaluations.set(evaluator, readEvalOutcome(members, evaluator, false));
  }
  return found;
}

/** Every whole line; one that was cut short was never acknowledged. */
async function readMembers(path: string): Promise<ReadonlyMap<string, RawJson>[]> {
  const text = existsSync(path) ? await readFile(path, "utf8") : "";
  return text.split("\n").flatMap((line) => scanObject(line) ?? []);
}

function isoTime(ms: number): string {
  return new Date(ms).toISOString();
}
