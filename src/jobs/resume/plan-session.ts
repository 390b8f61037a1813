import { existsSync } from "node:fs";
import { isDeepStrictEqual } from "node:util";
import { RolloutError } from "../../base/rollout-error.ts";
import { redactJson, type Redactor } from "../../base/redactor.ts";
import type { TaskDigest } from "../inputs/hash-task.ts";
import { readKeptTexts, readTaskTexts } from "../inputs/task-texts.ts";
import { JobInputs } from "../inputs/job-inputs.ts";
import { planOfJournal, type JobStartedLine, type TaskReadLine } from "../output/job-journal.ts";
import { keyOf } from "../output/planned-trial.ts";
import type { SessionFile } from "../output/job-result-schema.ts";
import type { ReopenedDirectory } from "../output/open-job-output.ts";
import { isInterrupted, isFailed, type TrialResultFile } from "../output/trial-result-schema.ts";
import type { PreparedJob } from "../prepare-job.ts";
import { mapBounded } from "../tasks/map-bounded.ts";
import type { FailureType } from "../trial/failure.ts";
import type { Trial } from "../trial/trial.ts";
import { describeChanges, findKeyChanges, findTaskChanges, type JobChange } from "./job-changes.ts";
import { describeEdits, describeResultEdits } from "./find-edits.ts";
import type { EarlierWork } from "./open-earlier-work.ts";
import { settleTrial, type SettledTrial } from "./settle-trial.ts";

export interface SessionWishes {
  /** Which failed trials run again: all, those with one of the types, or none. */
  readonly retryFailed: "all" | readonly FailureType[];
  readonly acceptChanges: boolean;
  readonly signal: AbortSignal;
}

/** How a job is taken up again: what of it stays, what runs, and what its readers must know. */
export interface PlannedSession {
  readonly directory: ReopenedDirectory;
  readonly sessions: readonly SessionFile[];
  /** The first line of the session before; null if the job died before it wrote one. */
  readonly started: JobStartedLine | null;
  /** By key: what the earlier sessions came to, of trials that stay and of those that run again. */
  readonly settled: ReadonlyMap<string, SettledTrial>;
  /** In plan order. */
  readonly trials: readonly Trial[];
  readonly inputs: JobInputs;
  readonly changes: readonly JobChange[];
  /** Content of tasks that is not what the journal has. */
  readonly taskLines: readonly TaskReadLine[];
  readonly warnings: readonly string[];
  /** Which failed trials were asked for again. */
  readonly retryFailed: SessionWishes["retryFailed"];
  /** Nothing is left to run or to write: it ended well, and everything of it is there. */
  readonly isIdle: boolean;
}

/** Decides what is left to run of a job; rejects when results would depend on other inputs and nobody accepted that. */
export async function planSession(
  prepared: PreparedJob,
  earlier: EarlierWork,
  wishes: SessionWishes,
): Promise<PlannedSession> {
  const { job, trials } = prepared;
  const { journal, paths } = earlier;
  const settledList = await mapBounded(trials, 16, (trial) =>
    settleTrial(paths.dir, trial, journal.finished.get(trial.key) ?? null),
  );
  const settled = new Map(trials.map((trial, index) => [trial.key, settledList[index] ?? neverRun] as const));
  const hasResult = (trial: Trial): boolean => settled.get(trial.key)?.result !== null;
  const inputs = new JobInputs(job);
  const gone = [...journal.finished].filter(([key]) => !settled.has(key)).map(([, result]) => result);
  const content = await readContent(trials.filter(hasResult), earlier, inputs, prepared.redactor, wishes.signal);
  const changes =
    trials.some(hasResult) || gone.length > 0
      ? [
          ...findKeyChanges(earlier.config ?? {}, JSON.parse(redactJson(job.document, prepared.redactor)) as Table),
          ...content.flatMap(({ changes: found }) => found),
          ...describeGone(gone),
        ]
      : [];
  if (changes.length > 0 && !wishes.acceptChanges) throw refusal(paths.dir, changes);
  const left = trials.filter((trial) => runsAgain(settled.get(trial.key)?.result ?? null, wishes.retryFailed));
  const taskLines = content.flatMap(({ line }) => line ?? []);
  const isComplete = [...settled.values()].every(({ missingIn }) => missingIn === null);
  return {
    directory: earlier,
    sessions: journal.sessions,
    started: journal.started,
    settled,
    trials: left,
    inputs,
    changes,
    taskLines,
    warnings: [
      ...describeEdits(new Map([...settled].map(([key, { edits }]) => [key, edits]))),
      ...(journal.ended && existsSync(paths.result) ? await describeResultEdits(paths.dir) : []),
      ...(await warningsOf(prepared, settled, inputs, gone, wishes)),
    ],
    retryFailed: wishes.retryFailed,
    isIdle: left.length + changes.length + taskLines.length === 0 && isComplete && isSame(prepared, earlier),
  };
}

type Table = Readonly<Record<string, unknown>>;

const neverRun: SettledTrial = { result: null, missingIn: null, edits: [] };

// What its last session came to is what another one would come to.
function isSame({ job, trials }: PreparedJob, { journal: { started, ended }, paths }: EarlierWork): boolean {
  if (!started || !ended || ended.cancelled || ended.stopped_by_budget || !existsSync(paths.result)) return false;
  const keys = planOfJournal(started).map(keyOf);
  return (
    isDeepStrictEqual(
      keys,
      trials.map(({ key }) => key),
    ) &&
    isDeepStrictEqual(started.metrics, job.metrics) &&
    started.has_verifier === !job.verifier.disable
  );
}

function runsAgain(result: TrialResultFile | null, retryFailed: SessionWishes["retryFailed"]): boolean {
  if (result === null || isInterrupted(result)) return true;
  if (retryFailed === "all") return isFailed(result);
  return result.error !== null && retryFailed.includes(result.error.type);
}

interface ReadTask {
  readonly changes: readonly JobChange[];
  readonly line: TaskReadLine | null;
}

async function readContent(
  trials: readonly Trial[],
  { journal, paths }: EarlierWork,
  inputs: JobInputs,
  redactor: Redactor,
  signal: AbortSignal,
): Promise<ReadTask[]> {
  const tasks = new Map(trials.map((trial) => [`${trial.datasetName}/${trial.task.name}`, trial.task]));
  return mapBounded([...tasks], 8, async ([name, task]): Promise<ReadTask> => {
    const before = journal.tasks.get(name);
    const digest = await inputs.digestOf(task, signal);
    const isNew = digest !== null && digest.hash !== before?.hash;
    if (!before || before.hash === digest?.hash) return { changes: [], line: lineOf(task, isNew ? digest : null) };
    const old = { digest: before, texts: await readKeptTexts(paths.tasks, before.hash) };
    const texts = digest === null || task.directory === null ? {} : readTaskTexts(task.directory, digest, redactor);
    return {
      changes: findTaskChanges(name, old, digest && { digest, texts }),
      line: lineOf(task, digest),
    };
  });
}

function lineOf({ datasetName, name }: Trial["task"], digest: TaskDigest | null): TaskReadLine | null {
  return digest && { type: "task_read", dataset: datasetName, task: name, ...digest };
}

function describeGone(gone: readonly TrialResultFile[]): JobChange[] {
  const byTask = Map.groupBy(gone, (result) => `${result.agent_name} on ${result.dataset_name}/${result.task_name}`);
  return [...byTask].map(([name, results]) => ({
    what: `trials of ${name}`,
    lines: [`- ${describeAttempts(results)} finished`, "+ not in the job"],
  }));
}

function describeAttempts(results: readonly TrialResultFile[]): string {
  const numbers = results.map(({ attempt }) => attempt).join(", ");
  return results.length === 1 ? `attempt ${numbers} is` : `attempts ${numbers} are`;
}

async function warningsOf(
  { trials }: PreparedJob,
  settled: PlannedSession["settled"],
  inputs: JobInputs,
  gone: readonly TrialResultFile[],
  { retryFailed, signal }: SessionWishes,
): Promise<string[]> {
  let others = 0;
  let keptCount = 0;
  for (const trial of trials) {
    const result = settled.get(trial.key)?.result ?? null;
    if (result === null || runsAgain(result, retryFailed)) continue;
    keptCount++;
    const now = await inputs.of(trial.agent.name, trial.task, signal);
    if (result.inputs && Object.entries(now).some(([kind, hash]) => result.inputs[kind as keyof typeof now] !== hash))
      others++;
  }
  return [
    ...(others > 0
      ? [
          `${others} of ${keptCount} kept trials ran with other inputs than this job has now; see mixed_inputs in result.json`,
        ]
      : []),
    ...(gone.length > 0
      ? [
          `${gone.length} finished ${gone.length === 1 ? "trial is" : "trials are"} no longer part of the job and not counted`,
        ]
      : []),
  ];
}

function refusal(dir: string, changes: readonly JobChange[]): RolloutError {
  const details = describeChanges(changes);
  return new RolloutError("config_invalid", `this is not the job whose results are in ${dir}; nothing was started`, {
    details,
    hint: "undo the change, run it as a job of another name, or run the rest with what is there now: --accept-changes",
  });
}
