import { mkdir } from "node:fs/promises";
import type { Redactor } from "../../base/redactor.ts";
import { keepTaskTexts } from "../inputs/task-texts.ts";
import type { JobJournal } from "../output/job-journal.ts";
import { trialPaths, type JobPaths } from "../output/job-paths.ts";
import type { JobTally } from "../output/job-tally.ts";
import { setAside, type EarlierTries } from "../output/set-aside.ts";
import { writeTrialResult } from "../output/trial-files.ts";
import { toUnit } from "../output/trial-result-schema.ts";
import type { RunVoice } from "../run-voice.ts";
import type { Trial } from "../trial/trial.ts";
import type { PlannedSession } from "./plan-session.ts";

export interface TakeUpOptions {
  /** The whole plan. */
  readonly plan: readonly Trial[];
  readonly paths: JobPaths;
  readonly journal: JobJournal;
  readonly redactor: Redactor;
  readonly tally: JobTally;
  readonly voice: RunVoice;
}

/** Lets a job begin with what its earlier sessions came to, and writes what a crash kept from being written. */
export async function takeUp(session: PlannedSession, options: TakeUpOptions): Promise<void> {
  const { plan, paths, journal, redactor, tally, voice } = options;
  for (const line of session.taskLines) await journal.append(line);
  await keepTexts(session, options);
  const again = new Set(session.trials);
  for (const trial of plan) {
    const { result, missingIn } = session.settled.get(trial.key) ?? { result: null, missingIn: null };
    if (result === null) continue;
    tally.add(trial.index, result);
    if (missingIn === "journal") await journal.append({ type: "trial_finished", index: trial.index, result });
    if (missingIn === "file") {
      const trialFiles = trialPaths(paths.dir, trial.key);
      // Somebody may have removed it whole.
      await mkdir(trialFiles.dir, { recursive: true });
      await writeTrialResult(trialFiles, result, redactor);
    }
    if (!again.has(trial)) voice.kept(toUnit(result));
  }
}

async function keepTexts({ taskLines }: PlannedSession, { plan, paths, redactor }: TakeUpOptions): Promise<void> {
  const tasks = new Map(plan.map(({ task }) => [`${task.datasetName}/${task.name}`, task.directory]));
  for (const line of taskLines) {
    const directory = tasks.get(`${line.dataset}/${line.task}`) ?? null;
    if (directory !== null) await keepTaskTexts(paths.tasks, directory, line, redactor);
  }
}

/** Makes room for a trial that runs again; its earlier result is first taken back in the journal. */
export async function reopenTrial(
  trial: Trial,
  session: PlannedSession | null,
  { paths, journal, redactor }: Pick<TakeUpOptions, "paths" | "journal" | "redactor">,
): Promise<EarlierTries | null> {
  if (!session) return null;
  if (session.settled.get(trial.key)?.result) await journal.append({ type: "trial_reopened", index: trial.index });
  return setAside(trialPaths(paths.dir, trial.key), redactor);
}
